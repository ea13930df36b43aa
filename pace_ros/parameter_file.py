"""Writes `config/pace.yaml` from the configuration tree: every parameter with its default, meaning and limits.

scripts/run python3 -m pace_ros.parameter_file > config/pace.yaml
"""
from __future__ import annotations

import json
import sys
import textwrap

from pace_ros.config import Config
from pace_ros.settings import Setting, Value, settings_of

HEADER = """\
# Parameters of the dialogue node with their defaults. Durations are seconds, similarities cosines.
# [fixed] takes effect when the node is configured; everything else may be set while it runs, from the next turn on.
# Written by `python3 -m pace_ros.parameter_file`; copy it, keep what you change, and give it as params_file.
/**:
  ros__parameters:
"""


def render() -> str:
    """The whole file."""
    lines: list[str] = []
    section: list[str] = []
    for setting in settings_of(Config):
        *groups, name = setting.name.split('.')
        if groups != section:
            lines += ['', *(f'    {group}:' for group in groups)]
            section = groups
        indent = '    ' + '  ' * len(groups)
        lines += textwrap.wrap(
            _comment(setting), 110, initial_indent=f'{indent}# ', subsequent_indent=f'{indent}# ',
            break_on_hyphens=False,  # a choice is one word
        )
        lines.append(f'{indent}{name}: {_yaml(setting.default)}')
    return HEADER + '\n'.join(lines) + '\n'


def _comment(setting: Setting) -> str:
    limits = ''
    if setting.choices:
        limits = f' One of: {", ".join(setting.choices)}.'
    elif setting.low is not None:
        limits = f' From {setting.low:g} to {setting.high:g}.'
    return f'{setting.doc}{limits}{" [fixed]" if setting.read_only else ""}'


def _yaml(value: Value) -> str:
    if isinstance(value, tuple):
        return json.dumps(list(value) or [''])
    return json.dumps(value, ensure_ascii=False)


if __name__ == '__main__':
    sys.stdout.write(render())
