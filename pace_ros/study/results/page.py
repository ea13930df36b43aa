"""The report as one HTML page that needs nothing beside itself: no network, no script; light and dark."""
from __future__ import annotations

import re
from html import escape
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from pace_ros.study.report_figures import Drawing, inline_svg
from pace_ros.study.results.methods import Section, sections
from pace_ros.study.results.rows import Results
from pace_ros.study.results.words import Table, begins, is_numeric

BESIDE = {
    'figure_3': 'table_iv', 'figure_4': 'table_iv', 'quality_latency': 'table_iv_pl', 'figure_6': 'table_vii',
    'event_age': 'table_vii', 'figure_5': 'gate', 'figure_7': 'gate',
}
"""The table above which a figure stands; the others have a section of their own."""


def page(results: Results, tables: list[Table], drawn: list[Drawing], headlines: list[str]) -> str:
    """The whole page, with its figures."""
    environment = Environment(loader=PackageLoader('pace_ros.study.results', '.'), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True)
    figures = {each.name: _figure(each) for each in drawn}
    placed: dict[str, list[dict[str, Any]]] = {}
    for name, figure in figures.items():
        placed.setdefault(BESIDE.get(name, 'anatomy'), []).append(figure)
    rows = results.rows
    return environment.get_template('page.html').render(
        style=Markup(_style()), headlines=headlines, anatomy=placed.get('anatomy', []),  # noqa: S704  our own sheet
        facts={'measured requests': f'{len(rows):,}', 'arms': rows['arm'].nunique(), 'parts': rows['part'].nunique(),
               'data sets': rows['dataset'].nunique(), 'seeds': rows['seed'].nunique()},
        sections=[{**_section(each), 'figures': placed.get(each.name, [])} for each in tables],
        methods=[_method(each) for each in sections(results)],
    )


def _style() -> str:
    """The style sheet of the page on sessions: both look alike."""
    loader = PackageLoader('pace_ros.study', '.')
    source, *_ = loader.get_source(Environment(autoescape=True), 'report_page.html')
    found = re.search(r'<style>(.*?)</style>', source, re.DOTALL)
    return found.group(1) if found else ''


def _figure(drawing: Drawing) -> dict[str, Any]:
    return {'svg': Markup(inline_svg(drawing, escape(drawing.caption, quote=True))),  # noqa: S704  drawn here
            'caption': drawing.caption}


def _grid(frame: pd.DataFrame) -> dict[str, Any]:
    text = frame.astype(str)
    rows = text.to_numpy().tolist()
    return {'columns': [{'name': name, 'numeric': is_numeric(text[name])} for name in text.columns],
            'rows': [{'cells': row, 'begins': begin} for row, begin in zip(rows, begins(text), strict=True)]}


def _section(table: Table) -> dict[str, Any]:
    return {'name': table.name, 'title': table.title, 'note': table.note, **_grid(table.shown)}


def _method(section: Section) -> dict[str, Any]:
    return {'title': section.title, 'paragraphs': section.paragraphs, **_grid(section.table)}
