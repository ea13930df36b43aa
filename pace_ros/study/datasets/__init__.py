"""What is asked in an evaluation: questions with right answers, from our own generator or from public files."""
from pace_ros.study.datasets.question import Change, DataSet, Question
from pace_ros.study.datasets.registry import FOLDER, NAMES, load
from pace_ros.study.datasets.rows import DataSetError
from pace_ros.study.datasets.world import World

__all__ = ['FOLDER', 'NAMES', 'Change', 'DataSet', 'DataSetError', 'Question', 'World', 'load']
