from __future__ import annotations

from pathlib import Path

from pace_ros.serving.fleet import fleet_of
from pace_ros.study.live_serving.live_fleet import LiveFleet, one_prefiller_two_decoders


def test_what_is_written_is_a_fleet(tmp_path: Path) -> None:
    live = LiveFleet(tmp_path, one_prefiller_two_decoders(slots=3, context=512))
    live.urls = {each.name: f'http://127.0.0.1:{8100 + number}' for number, each in enumerate(live.members)}
    fleet = fleet_of(live.described('round-robin', {'admission': {'wait': 9.0}}))
    assert [(each.name, each.role, each.capacity) for each in fleet.replicas] == [
        ('prefill-1', 'prefill', 1536), ('decode-1', 'decode', 1536), ('decode-2', 'decode', 1536)]
    assert (fleet.settings.policy, fleet.settings.admission.wait) == ('round-robin', 9.0)
    assert fleet.settings.slot_dir == str(tmp_path / 'slots')


def test_reading_has_a_core_of_its_own() -> None:
    cores = {each.role: each.core for each in one_prefiller_two_decoders()}
    assert cores == {'prefill': 0, 'decode': 1}
