"""Prompts of a known size for the packaged model: an invented brochure, another one for every visitor."""
from __future__ import annotations

import random

MODELS = ('Lark', 'Heron', 'Bison', 'Otter', 'Falcon', 'Badger')
PARTS = ('battery', 'cabin', 'boot', 'dashboard', 'charger', 'roof', 'wheel', 'seat', 'mirror', 'heat pump')
TRAITS = ('quiet', 'wide', 'light', 'strong', 'simple', 'warm', 'bright', 'firm', 'smooth', 'safe')
PLACES = ('north', 'south', 'coast', 'hills', 'city', 'valley', 'harbour', 'lakes')
A_SENTENCE = 17.0  # tokens that one takes with the packaged model, about


def brochure(tokens: int, seed: int) -> str:
    """About so many tokens of sentences; those of two seeds have no beginning in common."""
    chance = random.Random(seed)  # noqa: S311  filler text
    sentences = [f'Brochure {seed}.']
    sentences += [
        f'The {chance.choice(PARTS)} of the {chance.choice(MODELS)} is {chance.choice(TRAITS)} '
        f'in the {chance.choice(PLACES)} after {chance.randrange(10, 100)} days.'
        for _ in range(max(1, round(tokens / A_SENTENCE)))
    ]
    return ' '.join(sentences)
