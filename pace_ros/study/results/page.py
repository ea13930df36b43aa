"""The report on the evaluation as one HTML page."""
from __future__ import annotations

from pace_ros.study.report_figures import Drawing
from pace_ros.study.results.html_page import html_page
from pace_ros.study.results.methods import sections
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table

BESIDE = {
    'figure_3': 'table_iv', 'figure_4': 'table_iv', 'quality_latency': 'table_iv_pl', 'figure_6': 'table_vii',
    'event_age': 'table_vii', 'figure_5': 'gate', 'figure_7': 'gate',
}
"""The table above which a figure stands; the others have a section of their own."""


def page(results: Results, tables: list[Table], drawn: list[Drawing], headlines: list[str]) -> str:
    """The whole page, with its figures."""
    placed: dict[str, list[Drawing]] = {}
    for each in drawn:
        placed.setdefault(BESIDE.get(each.name, ''), []).append(each)
    rows = results.rows
    facts = {'measured requests': f'{len(rows):,}', 'arms': rows['arm'].nunique(), 'parts': rows['part'].nunique(),
             'data sets': rows['dataset'].nunique(), 'seeds': rows['seed'].nunique()}
    return html_page('The evaluation', facts, headlines, tables, sections(results), placed)
