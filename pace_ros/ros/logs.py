"""The core logs with `logging`; on a robot its lines belong in ROS's log."""
from __future__ import annotations

import logging

from rclpy.impl.rcutils_logger import RcutilsLogger


class _ToRos(logging.Handler):
    """Hands each line to the node's logger, which has a fixed severity for each place in the code."""

    def __init__(self, logger: RcutilsLogger) -> None:
        super().__init__(logging.INFO)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def forward_logs(logger: RcutilsLogger) -> None:
    """Send everything the core logs from now on to this logger."""
    core = logging.getLogger('pace_ros')
    core.handlers = [_ToRos(logger)]
    core.setLevel(logging.INFO)
    core.propagate = False
