"""All figures of the report, in order, drawn without any display."""
from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pace_ros.study.report_figures import Drawing, style
from pace_ros.study.results import figure_anatomy, figure_latency, figure_ramp, figure_staleness
from pace_ros.study.results.rows import Results

ORDER = ('figure_2', 'figure_3', 'figure_4', 'figure_5', 'figure_6', 'figure_7', 'waterfall', 'quality_latency',
         'event_age')


def all_figures(results: Results, frames: Mapping[str, pd.DataFrame]) -> list[Drawing]:
    """Every figure there are rows for; ``frames`` are those of the tables, by name."""
    with style():
        drawn = [
            *figure_anatomy.draw(results), *figure_latency.draw(results, frames['table_iv']),
            *figure_ramp.draw(results), *figure_staleness.draw(results, frames['table_vii']),
        ]
        for each in drawn:  # laid out once, whatever formats they are saved in: the same bytes for each
            each.figure.draw_without_rendering()
            each.figure.set_layout_engine('none')
    return sorted(drawn, key=lambda each: ORDER.index(each.name))
