"""Intervals, paired tests and corrections, by SciPy and statsmodels."""
from pace_ros.study.statistics.confirmatory import Confirmatory, confirmatory
from pace_ros.study.statistics.error import StatisticsError
from pace_ros.study.statistics.holm import against_baselines, holm
from pace_ros.study.statistics.inferiority import NotInferior, not_inferior
from pace_ros.study.statistics.interval import Interval, shown
from pace_ros.study.statistics.mean_difference import mean_difference
from pace_ros.study.statistics.measured import cell, measured
from pace_ros.study.statistics.paired_tests import PairedTests, paired_tests
from pace_ros.study.statistics.pairs import pairs
from pace_ros.study.statistics.percentile import percentile, waits
from pace_ros.study.statistics.percentile_interval import percentile_interval, percentile_table
from pace_ros.study.statistics.percentile_ratio import PercentileRatio, percentile_ratio
from pace_ros.study.statistics.proportion import proportion, share_true
from pace_ros.study.statistics.seed_means import mean_interval, seed_mean

__all__ = [
    'Confirmatory', 'Interval', 'NotInferior', 'PairedTests', 'PercentileRatio', 'StatisticsError',
    'against_baselines', 'cell', 'confirmatory', 'holm', 'mean_difference', 'mean_interval', 'measured',
    'not_inferior', 'paired_tests', 'pairs', 'percentile', 'percentile_interval', 'percentile_ratio',
    'percentile_table', 'proportion', 'seed_mean', 'share_true', 'shown', 'waits',
]
