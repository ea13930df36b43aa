"""A data set of one's own, small enough for tests."""
from __future__ import annotations

import json
from pathlib import Path

ROWS = [
    {'question': f'What does the {name} cost?', 'answer': f'The {name} costs {price} yuan.', 'locale': 'en-US',
     'paraphrases': [f'How much is the {name}?', f'Tell me the price of the {name}, please.'], 'volatile': volatile}
    for name, price, volatile in (
        ('roof box', 3160, True), ('floor mat', 480, False), ('tow hook', 1250, False), ('dash cam', 899, False),
        ('child seat', 2100, True), ('ski rack', 1430, False), ('tent', 5200, False), ('charging cable', 760, False),
    )
]


def write(folder: Path) -> Path:
    """The data set as a file."""
    path = folder / 'own.jsonl'
    path.write_text('\n'.join(map(json.dumps, ROWS)), encoding='utf-8')
    return path
