"""Language models for the robots: the local stand-in for the cloud."""
