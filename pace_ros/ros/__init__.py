"""The only room that imports rclpy: nodes, conversions, parameters, diagnostics."""
