"""The verdicts of a language model on disk: one JSON object a line, resumable."""
from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pace_ros.study.judging.error import JudgingError
from pace_ros.study.judging.llm_judge import LlmVerdict

NAME = 'verdicts.jsonl'


def read_verdicts(path: Path) -> dict[str, LlmVerdict]:
    """The verdicts by answer, the last of several; none if there is no file. A torn last line is skipped.

    Raises JudgingError naming another line that is no verdict.
    """
    try:
        lines = path.read_text(encoding='utf-8').split('\n')
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise JudgingError(f'{path} cannot be read: {error}.') from error
    found: dict[str, LlmVerdict] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            verdict = LlmVerdict(**json.loads(line))
        except (ValueError, TypeError) as error:
            if number == len(lines):
                break
            raise JudgingError(f'{path}, line {number}: no verdict: {error}.') from error
        found[verdict.answer_id] = verdict
    return found


class VerdictFile:
    """Appends verdicts, each written out at once. A context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> VerdictFile:
        """Open for appending, after whole lines only. Raises JudgingError."""
        try:
            self._file = self._path.open('a+b')
        except OSError as error:
            raise JudgingError(f'{self._path} cannot be written: {error}.') from error
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b'\n') + 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, verdict: LlmVerdict) -> None:
        """Write one."""
        self._file.write(json.dumps(asdict(verdict), ensure_ascii=False).encode() + b'\n')
        self._file.flush()
