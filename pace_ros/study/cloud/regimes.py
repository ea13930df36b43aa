"""Named behaviours of the simulated cloud."""
from __future__ import annotations

from collections.abc import Mapping

from pace_ros.study.cloud.settings import CloudError, CloudSettings

PAPER = CloudSettings()
"""The regime of 1 to 4 s to the first token that the load anchors of design section 5 span: for the pure LLM with
answers of 27 tokens on average, as CarQA's, medians of about 1.0 s at an offered concurrency of 1 and 4 s at 32 over
500 requests after a warm-up of 100 (``load.offered`` tells where longer runs settle). The paper's own column of
measurements is not known; these settings can be replaced one by one."""

REGIMES: Mapping[str, CloudSettings] = {
    'paper': PAPER,
    'fast': PAPER.changed(first_token_median=0.35, first_token_sigma=0.2, gap_mean=0.015, knee=120.0),
    'slow': PAPER.changed(first_token_median=2.0, first_token_sigma=0.4, gap_mean=0.06, knee=40.0),
    'outage': PAPER.changed(outages=('60-90', '180-200')),
    'limited': PAPER.changed(rate_limit=4.0, burst=8),
}


def regime(name: str) -> CloudSettings:
    """The behaviour of a name. Raises CloudError."""
    if name not in REGIMES:
        raise CloudError(f'There is no regime {name!r} of the simulated cloud, only {", ".join(REGIMES)}.')
    return REGIMES[name]
