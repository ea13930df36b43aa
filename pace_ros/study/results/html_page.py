"""A report as one HTML page that needs nothing beside itself: no network, no script; light and dark."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from pace_ros.study.report_figures import Drawing, inline_svg
from pace_ros.study.results.methods import Section
from pace_ros.study.results.words import Table, begins, is_numeric


def html_page(
    title: str, facts: Mapping[str, object], headlines: Sequence[str], tables: Sequence[Table],
    methods: Sequence[Section], drawn: Mapping[str, Sequence[Drawing]],
) -> str:
    """The whole page. ``drawn``: the figures above each table, by its name; those under '' stand before all."""
    environment = Environment(loader=PackageLoader('pace_ros.study.results', '.'), autoescape=True, trim_blocks=True,
                              lstrip_blocks=True)
    figures = {name: [_figure(each) for each in some] for name, some in drawn.items()}
    return environment.get_template('page.html').render(
        title=title, style=_style(), headlines=headlines, anatomy=figures.get('', []), facts=facts,
        sections=[{'name': each.name, 'title': each.title, 'note': each.note, **_grid(each.shown),
                   'figures': figures.get(each.name, [])} for each in tables],
        methods=[{'title': each.title, 'paragraphs': each.paragraphs, **_grid(each.table)} for each in methods],
    )


def _style() -> Markup:
    """The style sheet of the page on sessions: all look alike."""
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
