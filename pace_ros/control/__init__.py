"""The router: thresholds under load."""
from pace_ros.control.router import Decision, Router, RouterState, StaticRouter

__all__ = ['Decision', 'Router', 'RouterState', 'StaticRouter']
