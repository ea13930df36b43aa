"""The chance in one request, the same whenever and in whatever order it is asked."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from pace_ros.study.cloud.settings import CloudSettings


def generator(*key: object) -> np.random.Generator:
    """A generator seeded by a stable digest of the key."""
    digest = blake2b('\x1f'.join(map(str, key)).encode('utf-8', 'surrogatepass'), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, 'little')))


@dataclass(frozen=True)
class Draw:
    """What is drawn for one request: ``normal`` standard normal, ``fault``, ``place`` and ``wording`` uniform in
    [0, 1); ``rest`` gives its gaps.
    """

    normal: float
    fault: float
    place: float
    wording: float
    rest: np.random.Generator

    @classmethod
    def of(cls, *key: object) -> Draw:
        """The draw of a key: seed, question, how often it was asked, attempt."""
        rest = generator(*key)
        normal = rest.standard_normal()
        fault, place, wording = rest.random(3).tolist()
        return cls(normal, fault, place, wording, rest)

    def first_token(self, settings: CloudSettings, others: int) -> float:
        """Time to the first token (s) beside so many other requests."""
        load = 1.0 + (others / settings.knee) ** settings.power if others else 1.0
        return settings.first_token_median * math.exp(settings.first_token_sigma * self.normal) * load

    def gaps(self, tokens: Sequence[int], settings: CloudSettings) -> list[float]:
        """Times (s) that groups of so many tokens take; a sum of gammas is a gamma."""
        if not tokens or settings.gap_mean <= 0.0:
            return [0.0] * len(tokens)
        shapes = np.asarray(tokens, dtype=float) * settings.gap_shape
        gaps: list[float] = self.rest.gamma(shapes, settings.gap_mean / settings.gap_shape).tolist()
        return gaps
