from __future__ import annotations

import signal
from pathlib import Path

from pace_ros.study.live_serving.live_fleet import LiveFleet, Member
from pace_ros.study.live_serving.sabotage import NextHandOver, corrupted, removed, spoiling, truncated

DEADLINE = 10.0  # s


class Recorded:
    """Stands for a server: the signals that it gets."""

    def __init__(self) -> None:
        self.signals: list[signal.Signals] = []

    def send(self, number: signal.Signals) -> None:
        self.signals.append(number)


def fleet_in(folder: Path) -> tuple[LiveFleet, Recorded, Recorded]:
    fleet = LiveFleet(folder, [Member('p', 'prefill', 0), Member('d', 'decode', 1)])
    fleet.slot_dir.mkdir()
    prefiller, decoder = Recorded(), Recorded()
    fleet.replicas = {'p': prefiller, 'd': decoder}  # type: ignore[dict-item]
    return fleet, prefiller, decoder


def test_damage_by_hand(tmp_path: Path) -> None:
    file = tmp_path / 'kv-1'
    file.write_bytes(b'12345678')
    corrupted(file)
    assert file.read_bytes() == b'\0\0\0\x005678'
    truncated(file)
    assert file.read_bytes() == b'\0\0\0\0'
    removed(file)
    removed(file)
    assert not file.exists()


def test_the_next_file_alone_is_struck(tmp_path: Path) -> None:
    fleet, _, _ = fleet_in(tmp_path)
    (fleet.slot_dir / 'kv-old').write_bytes(b'old')
    struck: list[str] = []
    watch = NextHandOver(fleet, lambda file: struck.append(file.name))
    (fleet.slot_dir / 'kv-new').write_bytes(b'new')
    assert watch.struck.wait(DEADLINE)
    watch.close()
    assert struck == ['kv-new']


def test_decoders_stand_still_while_a_file_is_spoilt(tmp_path: Path) -> None:
    fleet, prefiller, decoder = fleet_in(tmp_path)
    file = fleet.slot_dir / 'kv-1'
    file.write_bytes(b'12345678')
    seen: list[list[signal.Signals]] = []
    spoiling(fleet, lambda _: seen.append([*decoder.signals]))(file)
    assert seen == [[signal.SIGSTOP]]
    assert decoder.signals == [signal.SIGSTOP, signal.SIGCONT]
    assert prefiller.signals == []


def test_a_watch_ends_without_a_file(tmp_path: Path) -> None:
    fleet, _, _ = fleet_in(tmp_path)
    watch = NextHandOver(fleet, removed)
    watch.close()
    assert not watch.struck.is_set()
