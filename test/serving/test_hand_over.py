from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from serving_fleet import SimulatedFleet

from pace_ros.serving.hand_over import SlotFiles
from pace_ros.serving.simulated_replica import Faults
from pace_ros.settings import ConfigError

PROMPT = ' '.join(f'w{number}' for number in range(60))


@pytest.mark.anyio
async def test_a_slot_file_is_private_and_gone_afterwards(fleet: SimulatedFleet) -> None:
    modes = []
    fleet['p'].faults.on_saved = lambda path: modes.append(
        (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode))
    )
    await fleet.ask('v', PROMPT)
    assert modes == [(0o600, 0o700)]
    assert fleet.files() == []


@pytest.mark.anyio
async def test_a_replica_with_a_folder_of_its_own_leaves_one_file_there(
    fleet: SimulatedFleet, tmp_path: Path, caplog: pytest.LogCaptureFixture,
) -> None:
    fleet['p'].folder = tmp_path / 'elsewhere'
    fleet['p'].folder.mkdir()
    for key in 'abc':
        assert await fleet.ask(key, PROMPT)
    assert len([*fleet['p'].folder.iterdir()]) == 1
    assert fleet.calls('p', 'save') == 1
    said = [each.getMessage() for each in caplog.records if each.levelname == 'ERROR']
    assert len(said) == 1
    assert "replica p keeps slot files in a folder that is not 'slot_dir'" in said[0]
    fleet['p'].folder = fleet.folder  # it is started again as it should be
    fleet['p'].kill()
    fleet.gateway.lost('p')
    fleet['p'].revive()
    await fleet.keeper.look()
    assert await fleet.ask('d', PROMPT)
    assert (fleet.calls('p', 'save'), fleet.gateway.tally.handed_over) == (2, 1)
    fleet.check()


@pytest.mark.anyio
async def test_its_name_is_nobodys_word(fleet: SimulatedFleet) -> None:
    await fleet.ask('../../etc/passwd', PROMPT, filename='mine', id_slot=1)
    names = [asked['filename'] for name, asked in fleet['p'].seen if name == 'save']
    assert len(names) == 1
    assert names[0].startswith('kv-')
    assert len(names[0]) == 35


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def spoil(path: Path) -> None:
    path.write_bytes(b'\0' * path.stat().st_size)


@pytest.mark.anyio
@pytest.mark.parametrize('fault', [
    Faults(on_saved=os.unlink), Faults(on_saved=cut), Faults(on_saved=spoil),
    Faults(refuses={'save': (500, 'Unable to save slot')}), Faults(hangs={'save'}), Faults(resets={'save'}),
    Faults(refuses={'save': (501, 'This server does not support slots action.')}),
], ids=['missing', 'cut', 'corrupt', 'disk full', 'slow', 'reset', 'unsupported'])
async def test_a_failed_hand_over_costs_time_alone(fleet: SimulatedFleet, fault: Faults) -> None:
    fleet['p'].faults = fault
    assert await fleet.ask('v', PROMPT)
    assert (fleet.gateway.tally.hand_overs_failed, fleet.gateway.tally.turns, fleet.gateway.tally.deaths) == (1, 1, 0)
    fleet.check()


@pytest.mark.anyio
@pytest.mark.parametrize('fault', [
    Faults(refuses={'restore': (400, 'Unable to restore slot')}), Faults(hangs={'restore'}), Faults(resets={'restore'}),
], ids=['refused', 'slow', 'reset'])
async def test_a_decoder_that_does_not_restore_reads_itself(fleet: SimulatedFleet, fault: Faults) -> None:
    fleet['d1'].faults = fault
    assert await fleet.ask('v', PROMPT)
    assert fleet.home('v') == 'd1'
    assert fleet['d1'].reads == 63
    fleet.check()


@pytest.mark.anyio
async def test_a_file_that_is_too_large_is_not_handed_over_and_not_written_again(tmp_path: Path) -> None:
    fleet = SimulatedFleet(tmp_path, {'limits': {'slot_file': 1000}})
    await fleet.ask('small', 'hello')
    assert fleet.gateway.tally.handed_over == 1
    fleet['p'].faults.on_saved = lambda path: path.write_bytes(path.read_bytes().ljust(5000))
    await fleet.ask('v', ' '.join(['long'] * 150))
    assert fleet.gateway.tally.hand_overs_failed == 1
    saves = [name for name, _ in fleet['p'].seen].count('save')
    await fleet.ask('w', ' '.join(['longer'] * 160))
    assert [name for name, _ in fleet['p'].seen].count('save') == saves
    assert fleet.gateway.tally.turns == 3
    fleet.check()


@pytest.mark.anyio
@pytest.mark.parametrize('call', ['completions', 'save', 'restore'])
async def test_a_cancelled_hand_over_leaves_nothing(fleet: SimulatedFleet, call: str) -> None:
    reached = anyio.Event()
    replica = fleet['d1' if call == 'restore' else 'p']
    fail = replica._fail

    async def wait_at(name: str) -> None:
        if name == call:
            reached.set()
            await anyio.sleep_forever()
        await fail(name)

    replica._fail = wait_at  # type: ignore[method-assign]
    async with anyio.create_task_group() as group:
        group.start_soon(fleet.ask, 'v', PROMPT)
        with anyio.fail_after(5):
            await reached.wait()
        group.cancel_scope.cancel()
    assert len(fleet.gateway.ledger.accounts()) == 0
    assert fleet.gateway.seating.waiting == 0
    fleet.check()


def test_what_an_earlier_life_left_is_deleted(tmp_path: Path) -> None:
    (tmp_path / 'kv-left').write_text('old')
    tmp_path.chmod(0o755)
    SlotFiles(tmp_path, largest=1000).prepare()
    assert list(tmp_path.iterdir()) == []
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_folder_with_other_files_is_not_closed_to_their_owners(tmp_path: Path) -> None:
    (tmp_path / 'letter').write_text('mine')
    tmp_path.chmod(0o755)
    with pytest.raises(ConfigError, match='holds other files, as letter: give it a folder of its own'):
        SlotFiles(tmp_path, largest=1000).prepare()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_folder_is_one_gateways_alone(tmp_path: Path) -> None:
    one = SlotFiles(tmp_path, largest=1000)
    one.prepare()
    one.prepare()
    (tmp_path / 'kv-moving').write_text('')
    with pytest.raises(ConfigError, match='is in use by another gateway: give each a folder of its own'):
        SlotFiles(tmp_path, largest=1000).prepare()
    assert [each.name for each in tmp_path.iterdir()] == ['kv-moving']
    one.close()
    assert list(tmp_path.iterdir()) == []
    SlotFiles(tmp_path, largest=1000).prepare()


HOLD = """
import sys, time
from pathlib import Path
from pace_ros.serving.hand_over import SlotFiles
SlotFiles(Path(sys.argv[1]), largest=1000).prepare()
print('locked', flush=True)
time.sleep(60)
"""


def test_a_gateway_that_was_killed_has_no_folder(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, '-c', HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == 'locked\n'
        with pytest.raises(ConfigError, match='is in use by another gateway'):
            SlotFiles(tmp_path, largest=1000).prepare()
        other.kill()
    (tmp_path / 'kv-moving').write_text('')
    SlotFiles(tmp_path, largest=1000).prepare()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    def flock(_file: int, _how: int) -> None:
        raise OSError(errno.EBADF, 'Bad file descriptor')

    monkeypatch.setattr('fcntl.flock', flock)
    SlotFiles(tmp_path, largest=1000).prepare()
    assert f'{tmp_path} cannot be locked (Bad file descriptor)' in caplog.text


def test_a_folder_that_cannot_be_made_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(ConfigError, match=r"'slot_dir' .* cannot be used"):
        SlotFiles(tmp_path / 'file' / 'below', largest=1000).prepare()


@pytest.mark.anyio
async def test_a_file_that_a_server_wrote_too_late_is_swept(fleet: SimulatedFleet) -> None:
    (fleet.folder / 'kv-late').write_text('tokens')
    await fleet.keeper.look()
    assert fleet.files() == []


