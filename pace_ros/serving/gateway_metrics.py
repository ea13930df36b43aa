"""The gateway's counters and gauges for Prometheus, read from what it keeps anyway, and how long first tokens take."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from pace_ros.serving.gateway import Gateway

COUNTED = {
    'turns': 'Turns answered to their end.', 'refused': 'Turns refused: no room, or nobody well.',
    'too_long': 'Turns refused as no context holds their prompt.',
    'failed': 'Turns that ended with an error.', 'hung_up': 'Turns whose client did not wait for the end.',
    'handed_over': 'KV caches moved to a decoder.',
    'hand_overs_failed': 'Caches that were not moved: read again where they are used.',
    'rebound': 'Turns begun again elsewhere, their replica lost before the first token.',
    'deaths': 'Replicas lost.', 'read': 'Prompt tokens read.', 'cached': 'Prompt tokens found in a slot.',
    'answered': 'Tokens answered.',
}
BY_REPLICA = {
    'slow': 'Calls that took too long or failed.', 'drift': 'Tokens the ledger took for held and it did not find.',
}

MOVES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)  # s
BUCKETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0)  # s


def hand_over_seconds() -> Histogram:
    """How long caches take to be moved."""
    return Histogram('l2_gateway_hand_over_seconds', 'To save a cache and to restore it.', buckets=MOVES, registry=None)


class FirstTokens:
    """Time from a request that has come in whole to the first token sent; first and later turns apart."""

    def __init__(self) -> None:
        self.histogram = Histogram(
            'l2_gateway_first_token_seconds', 'From a request that has come in whole to the first token sent.',
            ['turn'], buckets=BUCKETS, registry=None,
        )
        self._first, self._later = self.histogram.labels('first'), self.histogram.labels('later')

    def sent(self, after: float, *, later: bool) -> None:
        """A turn's first token is sent ``after`` s; ``later``: a turn of its conversation was answered before."""
        (self._later if later else self._first).observe(after)


class Metrics:
    """A collector over one gateway."""

    TYPE = CONTENT_TYPE_LATEST

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._registry.register(gateway.first_tokens.histogram)
        if gateway.files is not None:
            self._registry.register(gateway.files.seconds)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Everything as it is now."""
        gateway = self._gateway
        for name, what in COUNTED.items():
            yield CounterMetricFamily(f'l2_gateway_{name}', what, value=getattr(gateway.tally, name))
        for name, counted in (('slow', gateway.tally.slow), ('drift', gateway.tally.drift_at)):
            yield _labelled(name, BY_REPLICA[name], 'replica', {each: counted.get(each, 0) for each in gateway.states})
        yield _labelled('conversations_ended', 'Conversations ended, by why.', 'why', gateway.tally.ended)
        yield GaugeMetricFamily('l2_gateway_conversations', 'Conversations known.', value=len(gateway.conversations))
        yield GaugeMetricFamily('l2_gateway_waiting', 'Turns waiting for room.', value=gateway.seating.waiting)
        yield GaugeMetricFamily('l2_gateway_arriving', 'Prompt tokens a second let in.',
                                value=gateway.seating.admission.arriving())
        yield from self._replicas()

    def _replicas(self) -> Iterator[Metric]:
        gauges = {
            'well': 'Whether it answers.', 'kv_held': 'Tokens held, by the ledger.',
            'kv_reserved': 'Tokens reserved for turns under way.', 'kv_capacity': 'Tokens it can hold.',
            'slots_free': 'Slots without a conversation.', 'streams': 'Answers under way.',
            'prompt_waiting': 'Prompt tokens waiting or being read.',
            'prompt_rate': 'Prompt tokens a second, measured.',
        }
        families = {name: GaugeMetricFamily(f'l2_gateway_replica_{name}', what, labels=['replica'])
                    for name, what in gauges.items()}
        ledger = self._gateway.ledger
        for state in self._gateway.states.values():
            values = {
                'well': float(state.well), 'kv_held': ledger.held(state.name),
                'kv_reserved': ledger.reserved(state.name), 'kv_capacity': state.replica.capacity,
                'slots_free': ledger.free_slots(state.name), 'streams': state.streams,
                'prompt_waiting': state.waiting, 'prompt_rate': state.rate,
            }
            for name, value in values.items():
                families[name].add_metric([state.name], value)
        yield from families.values()


def _labelled(name: str, what: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f'l2_gateway_{name}', what, labels=[label])
    for each, count in counts.items():
        family.add_metric([each], count)
    return family
