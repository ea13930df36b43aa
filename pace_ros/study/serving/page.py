"""The report on serving as one HTML page."""
from __future__ import annotations

from pace_ros.study.report_figures import Drawing
from pace_ros.study.results.html_page import html_page
from pace_ros.study.results.words import Table
from pace_ros.study.serving.methods import sections
from pace_ros.study.serving.rows import Results


def page(results: Results, tables: list[Table], drawn: list[Drawing], headlines: list[str]) -> str:
    """The whole page; a figure stands above the table of its name."""
    runs = results.runs
    facts = {'simulated turns': f'{len(results.turns):,}', 'arms': runs['arm'].nunique(),
             'workloads': runs['workload'].nunique(), 'cells': len(runs), 'seeds': runs['seed'].nunique()}
    return html_page('Conversation-level serving', facts, headlines, tables, sections(results),
                     {each.name: [each] for each in drawn})
