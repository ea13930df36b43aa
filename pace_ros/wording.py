"""Reading the files that hold what is said, by language."""
from __future__ import annotations

from pathlib import Path

import yaml


def read_by_language(path: Path, what: str, error: type[ValueError]) -> dict[str, object]:
    """The file's content for each language, English among them. Raises ``error`` with a sentence that names the file.

    ``what`` is what the languages are mapped to, for that sentence.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise error(f'{path} cannot be read: {problem}.') from problem
    if not isinstance(content, dict) or 'en' not in content:
        raise error(f"{path}: must map languages to {what}, 'en' among them.")
    return {str(key): fields for key, fields in content.items()}
