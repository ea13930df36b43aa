"""The report as one HTML page that needs nothing beside itself: no network, no script."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from pace_ros.study.report_figures import Drawing, inline_svg
from pace_ros.study.report_tables import Table, is_numeric, timeline_table, timeline_title
from pace_ros.study.timeline import Timeline

if TYPE_CHECKING:
    from pace_ros.study.report import Report

BESIDE = {
    'distributions': 'latency_ptfr', 'quantiles': 'latency_pl', 'pl_alpha': 'pl_alpha', 'paths': 'paths',
    'motion': 'motion',
}
"""The table under which a figure stands."""


def page(report: Report, drawn: list[Drawing]) -> str:
    """The whole page, with its figures."""
    figures = {each.name: _figure(each) for each in drawn}
    placed = {table: figures[name] for name, table in BESIDE.items() if name in figures}
    environment = Environment(loader=PackageLoader('pace_ros.study', '.'), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True)
    return environment.get_template('report_page.html').render(
        facts=report.facts(), sources=report.sources, by=report.by,
        sections=[{**_section(each), 'figure': placed.get(each.name)} for each in report.tables],
        timelines=[_turn(each, figures) for each in report.timelines],
    )


def _figure(drawing: Drawing) -> dict[str, Any]:
    label = escape(drawing.caption or 'Timeline of a turn', quote=True)
    return {'svg': Markup(inline_svg(drawing, label)), 'caption': drawing.caption}  # noqa: S704  drawn here


def _section(table: Table) -> dict[str, Any]:
    columns = [{'name': name, 'numeric': is_numeric(table.shown[name])} for name in table.shown.columns]
    return {'name': table.name, 'title': table.title, 'note': table.note, 'columns': columns,
            'rows': table.shown.to_numpy().tolist()}


def _turn(line: Timeline, figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    turn = line.turn
    words = {'visitor': turn['text'], 'filler': turn['filler_text'] if turn['filler_shown'] is True else '',
             'robot': turn['answer'], 'reason': turn['reason']}
    said = {who: word for who, word in words.items() if word}
    table = timeline_table(line)
    return {**_section(table), 'title': timeline_title(line), 'said': said, 'figure': figures[table.name]}
