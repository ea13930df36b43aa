from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pace_ros.study.cloud import CloudError, CloudSettings, regime, tool
from pace_ros.study.refusal import refusing

OWN = {'question': 'Who are you?', 'answer': 'I am Fan.'}
SERVE = """
import argparse, sys
from pace_ros.study.cloud import tool
parser = argparse.ArgumentParser()
tool.add_arguments(parser)
sys.exit(tool.run(parser.parse_args()))
"""
GUARD = 30.0  # s; a process that takes longer has failed


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    tool.add_arguments(parser)
    return parser.parse_args(words)


def test_later_settings_replace_earlier_ones(tmp_path: Path) -> None:
    path = tmp_path / 'cloud.yaml'
    path.write_text('slots: 3\nknee: 7.0\n')
    chosen = tool.settings_of(options('--regime', 'fast', '--settings', str(path), '--set', 'slots=4'))
    assert chosen == regime('fast').changed(slots=4, knee=7.0)
    assert tool.settings_of(options()) == CloudSettings()


def test_anchors_move_median_and_knee() -> None:
    chosen = tool.settings_of(options('--anchors', '1:0.5', '32:2.0'))
    assert chosen.first_token_median < 0.5
    assert chosen.changed(first_token_median=0.87, knee=12.0) == CloudSettings()


@pytest.mark.parametrize(('words', 'said'), [
    (('--set', 'slots'), 'A setting must be NAME=VALUE'),
    (('--set', 'slots=['), 'cannot be read'),
    (('--set', 'slots=0'), 'must be from 1'),
    (('--regime', 'none'), 'no regime'),
    (('--anchors', '1', '2:3'), 'An anchor must be CONCURRENCY:SECONDS'),
    (('--anchors', '0:1', '2:3'), 'positive'),
])
def test_bad_options_get_a_sentence(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(CloudError, match=said):
        tool.settings_of(options(*words))


def test_what_cannot_be_served_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / 'own.jsonl'
    path.write_text(json.dumps(OWN) + '\n')

    def refused(*words: str) -> bool:
        return refusing('study cloud', lambda: tool.run(options(*words))) == 2

    assert refused('--dataset', 'nothing')
    assert refused('--port', '70000', '--dataset', str(path))
    with socket.create_server(('127.0.0.1', 0)) as taken:
        assert refused('--port', str(taken.getsockname()[1]), '--dataset', str(path))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "'nothing'" in lines[0]
    assert '70000' in lines[1]
    assert 'cannot listen on port' in lines[2]


@pytest.mark.parametrize('end', [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_told_to_end(tmp_path: Path, end: signal.Signals) -> None:
    path = tmp_path / 'own.jsonl'
    path.write_text(json.dumps(OWN) + '\n')
    words = ['--port', '0', '--dataset', str(path), '--set', 'first_token_median=0.02', '--set', 'knows=1']
    with subprocess.Popen([sys.executable, '-c', SERVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            asked = {'messages': [{'role': 'user', 'content': OWN['question']}]}
            answer = httpx.post(f'{url}/chat/completions', json=asked, timeout=GUARD).json()
            assert answer['choices'][0]['message']['content'].count('I am Fan.') == 1
            process.send_signal(end)
            _, errors = process.communicate(timeout=GUARD)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, '')
