"""All tables of the report, in order."""
from __future__ import annotations

from pace_ros.study.results.rows import Results
from pace_ros.study.results.table_ablations import ablations
from pace_ros.study.results.table_comparison import comparison
from pace_ros.study.results.table_endpoint import endpoint
from pace_ros.study.results.table_fillers import fillers
from pace_ros.study.results.table_gate import gate
from pace_ros.study.results.table_judge import judge
from pace_ros.study.results.table_library import library
from pace_ros.study.results.table_ratios import alone_ratios, full_ratios, plus_ratios
from pace_ros.study.results.table_seeds import seeds
from pace_ros.study.results.table_spot import spot
from pace_ros.study.results.table_transfer import transfer
from pace_ros.study.results.table_volatility import volatility
from pace_ros.study.results.words import Table


def all_tables(results: Results) -> list[Table]:
    """Every table; one whose part was not run has no rows, and its note says so."""
    return [
        endpoint(results), *comparison(results), ablations(results), fillers(results), volatility(results),
        transfer(results), gate(results), full_ratios(results), plus_ratios(results), alone_ratios(results),
        library(results), judge(results), spot(results), seeds(results),
    ]
