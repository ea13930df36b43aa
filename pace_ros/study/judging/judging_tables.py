"""A judge's agreement with people as tables, and what a language model's verdicts cost as a line."""
from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from pace_ros.study.judging.calibration import SCALE, Calibration
from pace_ros.study.judging.llm_judge import LlmVerdict


def agreement_tables(judge: str, found: Calibration) -> tuple[Table, Table]:
    """The figures, and human scores (rows) against the judge's (columns) with the human score to expect below."""
    figures = Table(title=f'{judge} against people, {found.count} answers', title_justify='left')
    figures.add_column('figure')
    figures.add_column('value', justify='right')
    for name, value in (
        ("Cohen's kappa, quadratic", found.kappa), ('Spearman', found.spearman), ('exact', found.exact),
        ('within one', found.within_one), ('bias (judge - human)', found.bias), ('mean error', found.error),
        ('mean error, calibrated (leave one out)', found.calibrated_error),
    ):
        figures.add_row(name, f'{value:.3f}')
    confusion = Table(title=f'human score by score of the {judge}', title_justify='left')
    for heading in ('human', *map(str, SCALE)):
        confusion.add_column(heading, justify='right')
    for score, row in zip(SCALE, found.confusion, strict=True):
        confusion.add_row(str(score), *map(str, row))
    confusion.add_section()
    confusion.add_row('expected', *(f'{each:.2f}' for each in found.expected))
    return figures, confusion


def cost_line(verdicts: Sequence[LlmVerdict], price_in: float, price_out: float) -> str:
    """How many verdicts, their tokens, and their price (prices are of a million tokens)."""
    without = sum(each.score is None for each in verdicts)
    tokens_in, tokens_out = (sum(getattr(each, name) for each in verdicts) for name in ('tokens_in', 'tokens_out'))
    price = (tokens_in * price_in + tokens_out * price_out) / 1e6
    line = f'{len(verdicts)} judged now, {without} without a verdict; {tokens_in} tokens in, {tokens_out} out'
    return f'{line}, price {price:.4f}' if price else line
