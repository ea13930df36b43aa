"""The report as one HTML page that needs nothing beside itself: the sheet of the evaluation's own page."""
from __future__ import annotations

import re
from html import escape
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from pace_ros.study.report_figures import Drawing, inline_svg
from pace_ros.study.results.words import Table, begins, is_numeric
from pace_ros.study.serving.methods import sections
from pace_ros.study.serving.rows import Results


def page(results: Results, tables: list[Table], drawn: list[Drawing], headlines: list[str]) -> str:
    """The whole page; a figure stands above the table of its name."""
    figures = {each.name: [_figure(each)] for each in drawn}
    loader = PackageLoader('pace_ros.study.results', '.')
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    runs = results.runs
    text = environment.get_template('page.html').render(
        style=_style(), headlines=headlines, anatomy=[],
        facts={'measured requests': f'{len(results.turns):,}', 'arms': runs['arm'].nunique(),
               'workloads': runs['workload'].nunique(), 'cells': len(runs), 'seeds': runs['seed'].nunique()},
        sections=[{'name': each.name, 'title': each.title, 'note': each.note, 'figures': figures.get(each.name, []),
                   **_grid(each.shown)} for each in tables],
        methods=[{'title': each.title, 'paragraphs': each.paragraphs, **_grid(each.table)}
                 for each in sections(results)],
    )
    return text.replace('<h1>The evaluation</h1>', '<h1>Conversation-level serving</h1>').replace(
        '<dt>measured requests</dt>', '<dt>simulated turns</dt>')


def _style() -> Markup:
    source, *_ = PackageLoader('pace_ros.study', '.').get_source(Environment(autoescape=True), 'report_page.html')
    found = re.search(r'<style>(.*?)</style>', source, re.DOTALL)
    return Markup(found.group(1) if found else '')  # noqa: S704  our own sheet


def _figure(drawing: Drawing) -> dict[str, Any]:
    return {'svg': Markup(inline_svg(drawing, escape(drawing.caption, quote=True))),  # noqa: S704  drawn here
            'caption': drawing.caption}


def _grid(frame: pd.DataFrame) -> dict[str, Any]:
    text = frame.astype(str)
    rows = text.to_numpy().tolist()
    return {'columns': [{'name': name, 'numeric': is_numeric(text[name])} for name in text.columns],
            'rows': [{'cells': row, 'begins': begin} for row, begin in zip(rows, begins(text), strict=True)]}
