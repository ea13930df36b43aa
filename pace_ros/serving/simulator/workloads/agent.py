"""Agent conversations as they were logged, one JSON object a line (the agentic trace of kv-cache-tester)."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pace_ros.serving.simulator.script import Script, TurnScript, WorkloadError


def read_agent(path: Path, *, longest: int | None = None) -> list[Script]:
    """The conversations of a trace: prompt, answer, reused prefix and think or tool time of every turn.

    Only text is for the user. Where an answer has other kinds before its text (thoughts, calls), every kind is taken to
    have the same share of its tokens; where the trace names no kind, all of it is taken for text. A conversation ends
    before the first turn that needs more than ``longest`` tokens; one without any turn left is left out.

    Raises WorkloadError that names file, line and field.
    """
    scripts = []
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            key, turns = str(record['id']), _turns(record['turns'], longest)
        except KeyError as error:
            raise WorkloadError(f'{path}, line {number}: there is no field {error}.') from None
        except (ValueError, TypeError, AttributeError) as error:
            raise WorkloadError(f'{path}, line {number}: {error}') from None
        if turns:
            scripts.append(Script(key, turns))
    if not scripts:
        raise WorkloadError(f'{path}: holds no conversation of at most {longest} tokens.')
    return scripts


def lines(path: Path) -> list[str]:
    """Of a text file. Raises WorkloadError."""
    try:
        return path.read_text(encoding='utf-8').splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f'{path}: cannot be read: {error}.') from None


def _turns(records: Sequence[Mapping[str, Any]], longest: int | None) -> tuple[TurnScript, ...]:
    turns: list[TurnScript] = []
    before = 0
    for each in records:
        prompt, answer = int(each['in']), int(each['out'])
        if longest is not None and prompt + answer > longest:
            break
        shared = min(int(each['reuse']), before, prompt)
        think = float(each.get('think', 0.0)) if turns else 0.0
        turns.append(TurnScript(prompt, answer, shared=shared, hidden=_hidden(each['ot'], answer), think=think))
        before = prompt + answer
    return tuple(turns)


def _hidden(kinds: Sequence[str], answer: int) -> int:
    if not kinds:
        return 0
    return answer * kinds.index('text') // len(kinds) if 'text' in kinds else answer
