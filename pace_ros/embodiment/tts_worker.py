"""The process that owns pyttsx3: one JSON request a line in, one JSON reply a line out.

The engine may hang or crash inside the speech library; in a process of its own it can be killed and started again.
"""
from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from pace_ros.embodiment.audio import read_wav
from pace_ros.language import language

VOICES = {'zh': ('cmn', 'zh'), 'en': ('en-us', 'en')}
ATTEMPTS = 6  # pyttsx3's espeak driver sometimes writes an empty file, on a busy machine several times running


def voices_by_language(engine: Any) -> dict[str, str]:
    """The engine's voice id for each language it can speak."""
    by_name = {str(voice.id).rsplit('/', 1)[-1]: voice.id for voice in engine.getProperty('voices')}
    return {key: by_name[name] for key, names in VOICES.items() for name in reversed(names) if name in by_name}


def synthesise(engine: Any, voice: str | None, rate: int, text: str, path: Path) -> None:
    """Write one sentence as a WAV file. Raises ValueError if the engine writes no sound."""
    for _attempt in range(ATTEMPTS):
        path.unlink(missing_ok=True)
        if voice is not None:
            engine.setProperty('voice', voice)
        engine.setProperty('rate', rate)  # set once at the start it is sometimes lost
        engine.save_to_file(text, str(path))
        engine.runAndWait()
        if path.is_file() and len(read_wav(path).samples):
            return
    raise ValueError('the speech engine wrote no sound')


def main() -> None:
    """Serve requests until standard input ends."""
    replies = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # pyttsx3 prints
        import pyttsx3  # noqa: PLC0415  its import may print too

        engine = pyttsx3.init(driverName='espeak')
        rate = int(sys.argv[1])
        voices = voices_by_language(engine)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                voice = voices.get(language(request['locale']))
                synthesise(engine, voice, rate, request['text'], Path(request['path']))
                reply: dict[str, str] = {}
            except Exception as error:  # whatever the engine raises is the caller's to judge
                reply = {'error': f'{type(error).__name__}: {error}'}
            replies.write(json.dumps(reply) + '\n')
            replies.flush()


if __name__ == '__main__':
    main()
