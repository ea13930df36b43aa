"""How well an observer's onsets agree with what the simulated robot says it really did (its ground truth)."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from pace_ros.bags.reading import read_messages
from pace_ros.clock import seconds
from pace_ros.turn import Content, Modality, Source

ONSET = 'pace_msgs/msg/Onset'
SAME_COMMAND = 0.1  # s between a command's onset and the message that carries it
SAME_INSTANT = 0.05  # s within which an observation and a true onset can be the same event
BODILY = (Modality.SPEECH, Modality.GAZE, Modality.GESTURE)


@dataclass(frozen=True)
class Instant:
    """One onset of a bag: ``stamp`` (s, ROS time) is NaN for what never showed, ``commanded`` its command's, where the
    onset itself tells.
    """

    turn_id: str
    modality: Modality
    content: Content
    stamp: float
    commanded: float = math.nan
    detail: str = ''


@dataclass(frozen=True)
class Event:
    """A true onset with the turn and content whose command caused it."""

    turn_id: str
    modality: Modality
    content: Content
    stamp: float


@dataclass(frozen=True)
class ModalityAgreement:
    """Absolute differences (s) of one modality; ``missed`` showed and were not observed, ``unfounded`` the reverse."""

    modality: Modality
    count: int
    p50: float
    p95: float
    worst: float
    missed: int
    unfounded: int


@dataclass(frozen=True)
class Agreement:
    """All modalities, and a line for each observation attributed to another turn than the one that moved then."""

    modalities: tuple[ModalityAgreement, ...]
    wrong: tuple[str, ...]


def events(commands: Iterable[Instant], truths: Iterable[Instant]) -> list[Event]:
    """The true onsets with their turns: speech by its turn, motions by the command made at the same time."""
    commands = list(commands)
    found: list[Event] = []
    for truth in truths:
        if math.isnan(truth.stamp):
            continue
        if truth.modality is Modality.SPEECH:
            first = all(each.turn_id != truth.turn_id or each.content is not truth.content
                        or each.modality is not Modality.SPEECH for each in found)
            if first:
                found.append(Event(truth.turn_id, truth.modality, truth.content, truth.stamp))
            continue
        near = [each for each in commands if each.modality is truth.modality
                and abs(each.commanded - truth.commanded) <= SAME_COMMAND
                and truth.turn_id in ('', each.turn_id)]
        if near:
            command = min(near, key=lambda each: abs(each.commanded - truth.commanded))
            found.append(Event(command.turn_id, truth.modality, command.content, truth.stamp))
    return found


def agreement(commands: Iterable[Instant], truths: Iterable[Instant], observed: Iterable[Instant]) -> Agreement:
    """Compare. Only what was commanded counts: a second sentence or beat of a turn is an event, but no onset."""
    commands, observed = list(commands), list(observed)
    true = events(commands, truths)
    wrong = tuple(line for each in observed if (line := _wrong(each, true)))
    return Agreement(tuple(_compare(modality, commands, true, observed) for modality in BODILY), wrong)


def _compare(
    modality: Modality, commands: list[Instant], true: list[Event], observed: list[Instant]
) -> ModalityAgreement:
    shown: dict[tuple[str, Content], float] = {}
    for event in true:
        if event.modality is modality:
            shown.setdefault((event.turn_id, event.content), event.stamp)
    wanted = {(each.turn_id, each.content) for each in commands if each.modality is modality}
    seen = {(each.turn_id, each.content): each.stamp for each in observed
            if each.modality is modality and not math.isnan(each.stamp)}
    both = seen.keys() & shown.keys()
    errors = np.abs([seen[key] - shown[key] for key in both])
    p50, p95, worst = np.percentile(errors, [50, 95, 100]) if both else (math.nan,) * 3
    return ModalityAgreement(
        modality, len(both), float(p50), float(p95), float(worst),
        missed=len((shown.keys() & wanted) - seen.keys()), unfounded=len(seen.keys() - shown.keys()),
    )


def _wrong(observed: Instant, true: list[Event]) -> str:
    """Whether what moved at that instant belongs to another turn, and to none of the one it was attributed to."""
    near = [each for each in true
            if each.modality is observed.modality and abs(each.stamp - observed.stamp) <= SAME_INSTANT]
    if not near or any(each.turn_id == observed.turn_id for each in near):
        return ''
    return (f'{observed.modality.name} at {observed.stamp:.3f} s was attributed to turn {observed.turn_id}, '
            f'it belongs to {near[0].turn_id}')


def agreement_of(bag: Path) -> Agreement:
    """Compare what a bag holds. Raises BagError."""
    kinds: dict[str, list[Instant]] = {'command': [], 'truth': [], 'observed': []}
    for each in read_messages(bag, types=[ONSET]):
        message = each.message
        stamp = seconds(message.header.stamp)
        is_truth = each.topic.endswith('ground_truth')
        if message.source == Source.UNKNOWN and not is_truth:
            continue
        shown = (not is_truth and message.source == Source.COMMANDED) or not math.isnan(message.elapsed)
        instant = Instant(
            message.turn_id, Modality(message.modality), Content(message.content), stamp if shown else math.nan,
            stamp - message.elapsed if is_truth and shown else stamp, message.detail,
        )
        kinds['truth' if is_truth else Source(message.source).name.lower().replace('commanded', 'command')].append(
            instant)
    return agreement(kinds['command'], kinds['truth'], kinds['observed'])


def agreement_table(result: Agreement) -> Table:
    """One row a modality, in milliseconds."""
    table = Table(title="Observed onsets against the simulated robot's own", title_justify='left')
    for heading in ('modality', 'onsets', 'P50', 'P95', 'worst', 'missed', 'unfounded'):
        table.add_column(heading, justify='left' if heading == 'modality' else 'right')
    for each in result.modalities:
        times = [f'{value * 1000:.1f} ms' if each.count else '-' for value in (each.p50, each.p95, each.worst)]
        table.add_row(each.modality.name.lower(), str(each.count), *times, str(each.missed), str(each.unfounded))
    table.caption = f'attributed to a wrong turn: {len(result.wrong)}' + ''.join(f'\n{line}' for line in result.wrong)
    table.caption_justify = 'left'
    return table
