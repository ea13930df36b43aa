from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from pace_ros.serving.fleet import fleet_of
from pace_ros.study.live_serving.live_fleet import LiveFleet, one_prefiller_two_decoders
from pace_ros.study.live_serving.server import ServerAbsent, free_ports


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


def test_gateways_over_one_fleet_follow_each_other_and_a_second_one_is_refused_with_its_reason(tmp_path: Path) -> None:
    live = LiveFleet(tmp_path, one_prefiller_two_decoders(slots=3, context=512))
    live.slot_dir.mkdir(mode=0o700, exist_ok=True)
    live.urls = {each.name: f'http://127.0.0.1:{port}' for each, port in zip(live.members, free_ports(3), strict=True)}
    for policy in ('pinned', 'disaggregated'):
        with live.gateway(policy) as gateway:
            health = httpx.get(f'{gateway.url.removesuffix("/v1")}/health', timeout=10.0, trust_env=False)
            assert health.json()['replicas'].keys() == live.urls.keys()
            with pytest.raises(ServerAbsent, match=r'gateway-round-robin does not start: .*slot'), \
                    live.gateway('round-robin'):
                pass
