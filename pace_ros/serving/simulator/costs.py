"""What work costs on a replica: the times that a calibration measures, or that a data sheet lets one expect."""
from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

from pace_ros.settings import ConfigError


@dataclasses.dataclass(frozen=True)
class Costs:
    """Times in s, sizes in tokens unless said otherwise. Raises ConfigError for what is negative or not finite.

    A step reads ``n`` prompt tokens behind ``d`` that are cached, and gives one token to each of ``B`` streams that
    have ``C`` tokens of context in all. It takes its base, the larger one where it does both (and oftener than once
    where slots have caches of their own, see Engine), and besides ``prefill_token * n + attend * (n * d + n**2 / 2)``
    and ``decode_stream * B + decode_token * C``.
    """

    prefill_base: float = 0.0  # s a step that reads
    prefill_token: float = 0.0  # s a prompt token
    attend: float = 0.0  # s a pair of a new token and one that it attends to
    decode_base: float = 0.0  # s a step that answers
    decode_stream: float = 0.0  # s a stream in the step
    decode_token: float = 0.0  # s a token of context in the step
    save_base: float = 0.0  # s that a hand-over holds up its source
    save_token: float = 0.0  # s a token, likewise
    restore_base: float = 0.0  # s that a hand-over holds up its target
    restore_token: float = 0.0  # s a token, likewise
    transfer_latency: float = 0.0  # s on the way between the two, which holds up nobody
    transfer_bandwidth: float = math.inf  # bytes/s on that way
    kv_bytes: float = 0.0  # bytes of KV cache a token

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            unbounded = field.name == 'transfer_bandwidth'
            if not value >= 0.0 or (math.isinf(value) and not unbounded) or (unbounded and value == 0.0):
                raise ConfigError(f"Cost '{field.name}' must be a number from 0 up, not {value!r}.")

    def reading(self, tokens: int, depth: int) -> float:
        """Reading so many prompt tokens behind ``depth`` cached ones, without the step's base."""
        return self.prefill_token * tokens + self.attend * (tokens * depth + tokens * tokens / 2)

    def answering(self, streams: int, context: int) -> float:
        """One token for every stream, without the step's base."""
        return self.decode_stream * streams + self.decode_token * context

    def prefill(self, tokens: int, depth: int = 0) -> float:
        """A step that reads and does nothing else."""
        return self.prefill_base + self.reading(tokens, depth)

    def decode(self, streams: int, context: int) -> float:
        """A step that answers and does nothing else."""
        return self.decode_base + self.answering(streams, context)

    def save(self, tokens: int) -> float:
        """The first part of a hand-over."""
        return self.save_base + self.save_token * tokens

    def transfer(self, tokens: int) -> float:
        """Its second part."""
        return self.transfer_latency + self.kv_bytes * tokens / self.transfer_bandwidth

    def restore(self, tokens: int) -> float:
        """Its third part."""
        return self.restore_base + self.restore_token * tokens

    def write(self, path: Path) -> None:
        """As JSON; an unbounded bandwidth is null. Raises OSError."""
        values = {key: None if math.isinf(each) else each for key, each in dataclasses.asdict(self).items()}
        path.write_text(json.dumps(values, indent=2) + '\n', encoding='utf-8')


def read_costs(path: Path) -> Costs:
    """Costs from JSON; what is left out costs nothing. Raises ConfigError with a sentence that names file and fault."""
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ConfigError(f'{path} cannot be read: {" ".join(str(error).split())}') from None
    if not isinstance(content, dict):
        raise ConfigError(f'{path} must map costs to numbers.')
    known = {field.name for field in dataclasses.fields(Costs)}
    values: dict[str, float] = {}
    for key, value in content.items():
        if key not in known:
            raise ConfigError(f"{path}: there is no cost '{key}'.")
        if value is None and key == 'transfer_bandwidth':
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{path}: cost '{key}' must be a number, not {value!r}.")
        values[key] = float(value)
    try:
        return Costs(**values)
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from None


@dataclasses.dataclass(frozen=True)
class Model:
    """A dense transformer, 16-bit weights; the defaults are of the 8-billion class with grouped queries."""

    parameters: float = 8e9
    layers: int = 32
    width: int = 4096
    kv_width: int = 1024

    @property
    def kv_bytes(self) -> float:
        """Bytes of KV cache a token: keys and values, two bytes each."""
        return 2 * 2.0 * self.layers * self.kv_width


@dataclasses.dataclass(frozen=True)
class Accelerator:
    """A data sheet: operations/s at 16 bits, bytes/s of memory and of the link, and what share of them is reached."""

    operations: float = 312e12
    memory: float = 2.0e12
    link: float = 25e9
    compute_share: float = 0.5
    memory_share: float = 0.7
    step: float = 0.002  # s that a step takes whatever it does
    latency: float = 0.001  # s before a transfer's first byte


def roofline(model: Model = Model(), device: Accelerator = Accelerator()) -> Costs:
    """The costs that a data sheet lets one expect: an assumption, not a measurement. Reading is bound by operations (2
    a parameter and token, 4 a layer, width and attended pair), answering by memory (weights once a step, KV a token).
    """
    operations, memory = device.operations * device.compute_share, device.memory * device.memory_share
    return Costs(
        prefill_base=device.step, prefill_token=2 * model.parameters / operations,
        attend=4.0 * model.layers * model.width / operations,
        decode_base=device.step + 2 * model.parameters / memory,
        decode_stream=2 * model.parameters / operations, decode_token=model.kv_bytes / memory,
        transfer_latency=device.latency, transfer_bandwidth=device.link, kv_bytes=model.kv_bytes,
    )
