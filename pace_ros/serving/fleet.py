"""The fleet's one configuration: replicas with their roles, and what the gateway does with them (design section 9).

    replicas:
      - {name: prefill-1, url: "http://127.0.0.1:8101", role: prefill, slots: 2, context: 4096}
      - {name: decode-1, url: "http://127.0.0.1:8102", role: decode, slots: 4, context: 4096}
    policy: pinned
    admission: {wait: 5.0}

Besides ``replicas`` every key is a setting of ``GatewaySettings``.
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from pace_ros.settings import ConfigError, setting, with_values
from pace_ros.urls import shown_url

ROLES = ('prefill', 'decode', 'both')
POLICIES = ('pinned', 'collocated', 'disaggregated', 'predicted', 'least-loaded', 'round-robin')
HAND_OVER = ('pinned', 'disaggregated', 'predicted')  # those that have a cache moved

_LABEL = r'[\w-]{1,63}'  # of a host's name; a longer one, or none, cannot be looked up
URL = re.compile(rf'https?://({_LABEL}(\.{_LABEL})*\.?|\[[\da-fA-F:.]+\])(:(?P<port>\d{{1,5}}))?/?', re.ASCII)


@dataclasses.dataclass(frozen=True)
class Replica:
    """A llama.cpp server: what it holds, and what it is for."""

    name: str = setting('', 'Its name in logs and metrics.')
    url: str = setting('', 'Its base URL, without /v1.')
    role: str = setting('both', 'prefill: first turns are read here; decode: conversations live here.', choices=ROLES)
    slots: int = setting(4, 'Conversations it holds at once (its -np).', low=1, high=256)
    context: int = setting(4096, 'Tokens of context a slot (its -c over its -np).', low=16, high=10_000_000)
    kv: int = setting(0, 'Tokens of KV cache that all its slots share; 0: each has its context for itself.', low=0,
                      high=10_000_000_000)
    prefill_rate: float = setting(200.0, 'Prompt tokens a second until it has been measured.', low=0.1, high=1e7)

    @property
    def prefills(self) -> bool:
        """Whether first turns may be read here."""
        return self.role != 'decode'

    @property
    def decodes(self) -> bool:
        """Whether conversations may live here."""
        return self.role != 'prefill'

    @property
    def streams(self) -> int:
        """Caches that its server has: a slot each, or one for all. A slot file is taken where there are as many."""
        return 1 if self.kv else self.slots

    @property
    def capacity(self) -> int:
        """Tokens of KV cache; no more than the slots can hold."""
        return min(self.kv or self.slots * self.context, self.slots * self.context)


@dataclasses.dataclass(frozen=True)
class Identity:
    """Where a request says which conversation it belongs to; the first that is there counts, headers first."""

    headers: tuple[str, ...] = setting(('x-session-id', 'x-conversation-id'), 'Header names.')
    fields: tuple[str, ...] = setting(
        ('conversation_id', 'session_id', 'metadata.session_id', 'metadata.conversation_id', 'prompt_cache_key'),
        'Fields of the body, dotted where they are nested.',
    )
    longest: int = setting(256, 'Longest identity taken; a longer one is refused.', low=8, high=4096)


@dataclasses.dataclass(frozen=True)
class AdmissionSettings:
    """What is let in: prefill tokens a second against measured throughput, KV occupancy against capacity."""

    utilisation: float = setting(0.9, "Share of the prefillers' measured throughput that may arrive.", low=0.05,
                                 high=10.0)
    occupancy: float = setting(1.0, 'Share of a KV cache that first turns may fill; the rest is for growth.', low=0.05,
                               high=1.0)
    window: float = setting(30.0, 'What has been let in can be read within it, s; arrivals are averaged over it.',
                            low=1.0, high=3600.0)
    wait: float = setting(5.0, 'How long a turn may wait for room before it is refused, s; 0: refused at once.',
                          low=0.0, high=600.0)
    waiting: int = setting(64, 'Turns that may wait at once.', low=0, high=10_000)


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a client may ask for."""

    body: int = setting(1_000_000, 'Bytes of a request.', low=1000, high=100_000_000)
    answer: int = setting(1024, 'Tokens of an answer; a larger max_tokens is cut to it.', low=1, high=1_000_000)
    conversations: int = setting(10_000, 'Conversations known at once, those without a cache included.', low=1,
                                 high=10_000_000)
    slot_file: int = setting(2_000_000_000, 'Bytes of a slot file; larger ones are not handed over.', low=1000,
                             high=1_000_000_000_000)


@dataclasses.dataclass(frozen=True)
class Deadlines:
    """Every wait ends, s."""

    connect: float = setting(1.0, 'To reach a replica.', low=0.01, high=60.0)
    tokenize: float = setting(2.0, 'To tell the tokens of a prompt.', low=0.01, high=60.0)
    prefill: float = setting(60.0, 'To read a prompt on a prefiller.', low=0.1, high=3600.0)
    hand_over: float = setting(30.0, 'To save or to restore a slot; a replica does so between two batches.', low=0.1,
                               high=600.0)
    first_token: float = setting(60.0, 'From a decoder.', low=0.1, high=3600.0)
    next_token: float = setting(15.0, 'Between two tokens.', low=0.1, high=600.0)
    total: float = setting(300.0, 'Of a turn.', low=1.0, high=86_400.0)
    ending: int = setting(5, 'Of answers under way when the gateway is told to end.', low=1, high=3600)


@dataclasses.dataclass(frozen=True)
class GatewaySettings:
    """What the gateway does, whatever the replicas."""

    host: str = setting('127.0.0.1', 'Address to listen on; others than loopback need PACE_GATEWAY_TOKEN.')
    port: int = setting(8090, 'Port; 0 chooses a free one.', low=0, high=65_535)
    model: str = setting('local', "The model's name in /v1/models and in answers.")
    policy: str = setting('pinned', 'How turns are placed.', choices=POLICIES)
    prediction_error: float = setting(0.0, 'Share of wrong predictions, for the policy predicted.', low=0.0, high=1.0)
    slot_dir: str = setting('', 'Folder that replicas and gateway share for slot files (their --slot-save-path); '
                            'empty: nothing is handed over, conversations are read where they live.')
    idle: float = setting(600.0, 'A conversation ends after so long without a turn, s.', low=1.0, high=1e6)
    grace: float = setting(30.0, 'The same after a client has hung up in the middle of an answer, s.', low=0.1,
                           high=1e6)
    health_period: float = setting(2.0, "Between two looks at a replica's health, s.", low=0.1, high=600.0)
    identity: Identity = dataclasses.field(default_factory=Identity)
    admission: AdmissionSettings = dataclasses.field(default_factory=AdmissionSettings)
    limits: Limits = dataclasses.field(default_factory=Limits)
    deadlines: Deadlines = dataclasses.field(default_factory=Deadlines)


SECTIONS = ('identity', 'admission', 'limits', 'deadlines')


@dataclasses.dataclass(frozen=True)
class Fleet:
    """Everything the gateway is told. Raises ConfigError for replicas that cannot make a fleet."""

    replicas: tuple[Replica, ...]
    settings: GatewaySettings = dataclasses.field(default_factory=GatewaySettings)

    def __post_init__(self) -> None:
        for what in ('name', 'url'):
            given = [str(getattr(each, what)).rstrip('/') for each in self.replicas]
            if len(set(given)) < len(given):
                raise ConfigError(f'Two replicas have one {what}: {", ".join(given)}.')
        for each in self.replicas:
            if not each.name:
                raise ConfigError(f'A replica needs a name: the one at {shown_url(each.url)} has none.')
            _check_url(each)
            if 0 < each.kv < each.context:
                raise ConfigError(f'The replica {each.name!r} has less KV cache ({each.kv}) than a context '
                                  f'({each.context}).')
        if not any(each.decodes for each in self.replicas):
            raise ConfigError('No replica decodes: give one the role decode or both.')

    @property
    def prefillers(self) -> tuple[Replica, ...]:
        """Those where first turns may be read."""
        return tuple(each for each in self.replicas if each.prefills)

    @property
    def decoders(self) -> tuple[Replica, ...]:
        """Those where conversations may live."""
        return tuple(each for each in self.replicas if each.decodes)


def read_fleet(path: Path) -> Fleet:
    """The fleet of a YAML file. Raises ConfigError with a sentence that names file and fault."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict) or not isinstance(content.get('replicas'), list) or not content['replicas']:
        raise ConfigError(f'{path} must map settings to values and list replicas.')
    try:
        return served_fleet_of(content)
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from None


def served_fleet_of(content: Mapping[str, Any]) -> Fleet:
    """A fleet of nested values that can serve. Raises ConfigError."""
    fleet = fleet_of(content)
    _check_served(fleet)
    return fleet


def _check_url(replica: Replica) -> None:
    """Raises ConfigError for one that no request can be sent to."""
    found = URL.fullmatch(replica.url)
    if found is None or not 0 < int(found['port'] or 80) < 1 << 16:
        raise ConfigError(f"The replica {replica.name!r} needs a 'url' of http:// or https://, a host and perhaps a "
                          f'port, with nothing after them, not {shown_url(replica.url)}.')


def _check_served(fleet: Fleet) -> None:
    """Raises ConfigError for a fleet that would refuse every turn, or leave a prefiller without work."""
    settings = fleet.settings
    if settings.policy == 'disaggregated' and not fleet.prefillers:
        raise ConfigError("The policy 'disaggregated' needs a replica with the role prefill or both.")
    if settings.slot_dir and not Path(settings.slot_dir).is_absolute():
        raise ConfigError(f"'slot_dir' must be an absolute path, as all replicas keep it, not {settings.slot_dir!r}.")
    streams = {each.name: each.streams for each in fleet.replicas}
    if settings.slot_dir and settings.policy in HAND_OVER and len(set(streams.values())) > 1:
        have = ', '.join(f'{name} has {count}' for name, count in streams.items())
        raise ConfigError("Caches are handed over among replicas that have equally many 'slots', or all a 'kv' that "
                          f'their slots share: {have}.')
    idle = [each.name for each in fleet.replicas if not each.decodes]
    if idle and not settings.slot_dir and settings.policy in HAND_OVER:
        raise ConfigError(f"The policy {settings.policy!r} can use the prefiller {idle[0]!r} with a 'slot_dir' only.")


def fleet_of(content: Mapping[str, Any]) -> Fleet:
    """A fleet of nested values. Raises ConfigError."""
    replicas = []
    for each in content.get('replicas') or ():
        if not isinstance(each, Mapping):
            raise ConfigError(f'A replica must map settings to values, not {each!r}.')
        try:
            replicas.append(with_values(Replica(), {str(key): value for key, value in each.items()}))
        except ConfigError as error:
            raise ConfigError(f'The replica {each.get("name", "")!r}: {error}') from None
    values = {key: each for key, each in content.items() if key != 'replicas'}
    for section in SECTIONS:
        if values.get(section) is None:
            values[section] = {}  # nothing is said in it
        if not isinstance(values[section], Mapping):
            raise ConfigError(f"'{section}' must map settings to values, not {values[section]!r}.")
    return Fleet(tuple(replicas), with_values(GatewaySettings(), _flat(values)))


def _flat(values: Mapping[Any, Any], prefix: str = '') -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f'{prefix}{key}.') if isinstance(value, Mapping) else {f'{prefix}{key}': value}
    return flat
