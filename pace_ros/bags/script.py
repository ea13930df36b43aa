"""What a bag has to replay: its messages in order, which of them are inputs, and the turns they once led to."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rosbags.interfaces import Qos, QosDurability

from pace_ros.bags.compare import Told, told
from pace_ros.bags.exchanges import End, Exchange, Input, exchanges, identified
from pace_ros.bags.reading import Decoder
from pace_ros.bags.replay_plan import Step, planned, since_speech, spaced
from pace_ros.bags.session import FRAME, INPUTS, SPEECH, TURN, UTTERANCE
from pace_ros.bags.storage import Bag, BagError, Raw
from pace_ros.clock import seconds
from pace_ros.turn import FrameKind, Outcome

STOPPED = 'stopped'  # outcome of speech that was broken into
NEVER_ALL = frozenset({'/clock', '/parameter_events', '/rosout'})  # a replay has its own


@dataclass(frozen=True)
class Replayed:
    """One message to publish: ``utterance`` is its decoded form, if it is one; ``since_speech`` is in s, or NaN."""

    raw: Raw
    utterance: Any = None
    since_speech: float = math.nan


@dataclass
class Script:
    """Everything a replay needs of a bag. ``prefix`` is the namespace it was recorded in; ``speaks``: it tells when the
    speech of each turn was over.
    """

    path: Path
    prefix: str
    messages: list[Replayed] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    order: list[Exchange] = field(default_factory=list)
    recorded: list[Told | None] = field(default_factory=list)
    everything: bool = False
    speaks: bool = False

    @property
    def topics(self) -> dict[str, tuple[str, bool]]:
        """Each topic to publish with its type, and whether latecomers are told its last message."""
        channels = (each.raw.channel for each in self.messages)
        return {each.topic: (each.type, latched(each.qos)) for each in channels}

    def steps(self, rate: float) -> list[Step]:
        """When to publish what."""
        return spaced(self.inputs, rate) if self.everything else planned(self.inputs, self.order, rate)


def latched(qos: tuple[Qos, ...]) -> bool:
    """Whether a topic's publishers offered their last messages to latecomers."""
    return any(each.durability == QosDurability.TRANSIENT_LOCAL for each in qos)


@dataclass
class _Results:
    """What became of the inputs: turns and frames, and by turn when its speech was over, and how; times in s."""

    turns: list[tuple[float, Any]] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)
    over: dict[str, tuple[float, str]] = field(default_factory=dict)

    def take(self, kind: str, time: float, message: Any) -> None:
        """Keep one message. Raises ValueError and AttributeError for a damaged one."""
        if kind == TURN:
            told(message, ())
            self.turns.append((time, message))
        elif kind == FRAME:
            FrameKind(message.kind)
            self.frames.append(message)
        elif not message.speaking:
            self.over[message.turn_id] = time, message.outcome


def read_script(path: Path, *, everything: bool = False) -> Script:
    """Read a bag for replay: the inputs of its robot, or every topic. Damaged messages are left out with a warning.
    Raises BagError.
    """
    with Bag(path) as bag:
        script = Script(path, _prefix(bag, everything=everything), everything=everything)
        results = _read(bag, script)
    over = results.over
    script.speaks = bool(over)
    turns = sorted(((over.get(turn.turn_id, (time,))[0], turn) for time, turn in results.turns),
                   key=lambda each: each[0])
    ends = [_end(time, turn, over) for time, turn in turns]
    named_inputs = identified(script.inputs)
    script.order = [replace(each, said=named_inputs[each.said.number]) for each in exchanges(script.inputs, ends)]
    script.inputs = named_inputs
    by_turn: dict[str, list[Any]] = {}
    for frame in results.frames:
        by_turn.setdefault(frame.turn_id, []).append(frame)
    script.recorded = [
        None if each.end is None else told(turns[each.end][1], by_turn.get(turns[each.end][1].turn_id, ()))
        for each in script.order
    ]
    _check(script)
    return script


def _read(bag: Bag, script: Script) -> _Results:
    """Fill a script with what is to be published, and collect what it led to."""
    results, decoder = _Results(), Decoder(bag.path)
    inputs = {f'{script.prefix}{name}' for name in INPUTS}
    for raw in bag.messages():
        topic, kind = raw.channel.topic, raw.channel.type
        if topic not in NEVER_ALL if script.everything else topic in inputs:
            if kind == UTTERANCE:
                decoder(raw, partial(_add_utterance, script, raw))
            else:
                script.messages.append(Replayed(raw))
                script.inputs.append(Input(len(script.inputs), raw.time / 1e9))
        if kind in (TURN, SPEECH, FRAME) and topic.startswith(script.prefix):
            decoder(raw, partial(results.take, kind, raw.time / 1e9))
    return results


def _end(time: float, turn: Any, over: dict[str, tuple[float, str]]) -> End:
    """When a turn and its speech had ended; speech that was stopped was broken into, too."""
    _, outcome = over.get(turn.turn_id, (time, ''))
    preempted = turn.outcome == Outcome.PREEMPTED or outcome == STOPPED
    return End(time, turn.conversation_id, turn.utterance_id, preempted=preempted)


def _prefix(bag: Bag, *, everything: bool) -> str:
    """The namespace of the robot in a bag, with its slashes. Raises BagError for none or several."""
    spoken = [each.topic for each in bag.channels if each.type == UTTERANCE and each.topic.endswith('/utterance')]
    if len(spoken) == 1:
        return spoken[0].removesuffix('utterance')
    if everything:
        return '/'
    raise BagError(f'{bag.path} holds utterances of several robots: {", ".join(spoken)}.' if spoken
                   else f'{bag.path} holds no utterance to replay: --all publishes what is in it.')


def _add_utterance(script: Script, raw: Raw, said: Any) -> None:
    number, time = len(script.inputs), raw.time / 1e9
    stamp = seconds(said.header.stamp)
    input_ = Input(number, time, said.conversation_id, said.utterance_id, final=not said.partial)
    script.messages.append(Replayed(raw, said, since_speech(time, stamp)))
    script.inputs.append(input_)


def _check(script: Script) -> None:
    if not script.messages:
        raise BagError(f'{script.path} holds no message to replay.')
    spoken = [each.utterance for each in script.messages if each.utterance is not None]
    if spoken and not script.everything and not any(each.text for each in spoken):
        raise BagError(f'{script.path} was recorded without text (record.text): there is nothing to say again.')
