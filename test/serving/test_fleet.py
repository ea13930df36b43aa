"""The fleet file: what it may say, and what it may not."""
from __future__ import annotations

import ast
import re
from pathlib import Path

import httpx
import pytest

import pace_ros
from pace_ros.serving.fleet import Fleet, GatewaySettings, Replica, fleet_of, read_fleet
from pace_ros.settings import ConfigError, settings_of
from pace_ros.urls import shown_url

ONE = {'name': 'one', 'url': 'http://127.0.0.1:1'}
WHOLE = """
replicas:
  - {name: prefill-1, url: "http://127.0.0.1:8101", role: prefill, slots: 2, context: 4096, kv: 8192}
  - {name: decode-1, url: "http://127.0.0.1:8102", role: decode, slots: 4, context: 4096, kv: 8192}
policy: pinned
slot_dir: /slots
admission: {wait: 2.5}
identity:
  headers: [x-visitor]
"""


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / 'fleet.yaml'
    path.write_text(WHOLE)
    fleet = read_fleet(path)
    assert [each.name for each in fleet.prefillers] == ['prefill-1']
    assert [each.name for each in fleet.decoders] == ['decode-1']
    assert [each.capacity for each in fleet.replicas] == [8192, 8192]
    assert fleet.settings.admission.wait == 2.5
    assert fleet.settings.admission.waiting == GatewaySettings().admission.waiting
    assert fleet.settings.identity.headers == ('x-visitor',)


@pytest.mark.parametrize('more', ['', '\nslot_dir: /slots\npolicy: collocated'], ids=['no folder', 'no hand-over'])
def test_slots_may_differ_where_nothing_is_handed_over(tmp_path: Path, more: str) -> None:
    path = tmp_path / 'fleet.yaml'
    path.write_text('replicas: [{name: one, url: "http://a", slots: 2}, {name: two, url: "http://b"}]' + more)
    assert [each.streams for each in read_fleet(path).replicas] == [2, 4]


def test_the_documented_fleet_can_serve_with_the_replicas_that_are_started_for_it(tmp_path: Path) -> None:
    docs = (Path(__file__).parents[2] / 'docs' / 'serving.md').read_text(encoding='utf-8')
    path = tmp_path / 'fleet.yaml'
    [example] = re.findall(r'```yaml\n(replicas:.*?)```', docs, re.DOTALL)
    path.write_text(example)
    fleet = read_fleet(path)
    started = re.findall(r'l2_replica --port (\d+) --slots (\d+) --context (\d+) --slot-dir (\S+)', docs)
    assert started == [(each.url.rsplit(':', 1)[1], str(each.slots), str(each.context), fleet.settings.slot_dir)
                       for each in fleet.replicas]


def test_an_empty_section_says_nothing() -> None:
    assert fleet_of({'replicas': [ONE], 'admission': None, 'limits': {}}).settings == GatewaySettings()


def test_one_replica_is_a_fleet() -> None:
    fleet = fleet_of({'replicas': [ONE]})
    assert fleet.prefillers == fleet.decoders == fleet.replicas
    assert fleet.replicas[0].capacity == 4 * 4096


@pytest.mark.parametrize(('content', 'named'), [
    ('replicas: []', 'list replicas'),
    ('[1, 2]', 'list replicas'),
    ('replicas: {a: b}', 'list replicas'),
    ('replicas: [one]', "'one'"),
    ('a: [', 'cannot be read'),
    ('replicas: [{name: one, url: "http://a"}, {name: one, url: "http://b"}]', 'one name'),
    ('replicas: [{name: one, url: "http://a"}, {name: two, url: "http://a/"}]', 'one url'),
    ('replicas: [{name: one, url: "127.0.0.1:80"}]', "'127.0.0.1:80'"),
    ('replicas: [{url: "http://a"}]', 'needs a name'),
    ('replicas: [{name: one, url: "http://a", role: prefill}]', 'No replica decodes'),
    ('replicas: [{name: one, url: "http://a", role: reads}]', "'reads'"),
    ('replicas: [{name: one, url: "http://a", colour: red}]', "'colour'"),
    ('replicas: [{name: one, url: "http://a", slots: 0}]', "The replica 'one': Parameter 'slots'"),
    ('replicas: [{name: one, url: "http://a", context: 4k}]', "The replica 'one': Parameter 'context' must be int"),
    ('replicas: [{name: one, url: "http://a", context: 500, kv: 400}]', '400'),
    ('replicas: [{name: one, url: "http://a"}]\nadmission: {wait: -1}', "'admission.wait'"),
    ('replicas: [{name: one, url: "http://a"}]\nadmission: {patience: 1}', "'admission.patience'"),
    ('replicas: [{name: one, url: "http://a"}]\nadmission: 3', "'admission' must map settings to values, not 3"),
    ('replicas: [{name: one, url: "http://a"}]\npolicy: best', "'best'"),
    ('replicas: [{name: one, url: "http://a", role: decode}]\npolicy: disaggregated', 'disaggregated'),
    ('replicas: [{name: one, url: "http://a"}, {name: p, url: "http://b", role: prefill}]', 'slot_dir'),
    ('replicas: [{name: one, url: "http://a"}]\nslot_dir: slots', "'slot_dir' must be an absolute path"),
    ('replicas: [{name: one, url: "http://a", slots: 2}, {name: two, url: "http://b"}]\nslot_dir: /slots',
     'one has 2, two has 4'),
    ('replicas: [{name: one, url: "http://a", kv: 9000}, {name: two, url: "http://b"}]\nslot_dir: /slots',
     'one has 1, two has 4'),
])
def test_what_makes_no_fleet_is_named_in_a_sentence(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / 'fleet.yaml'
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_fleet(path)
    message = str(caught.value)
    assert named in message
    assert str(path) in message
    assert '\n' not in message


@pytest.mark.parametrize('url', [
    '127.0.0.1:80', 'ftp://a', 'http://', 'http:///v1', 'http://a/v1', 'http://a//', 'http://a?x', 'http://a#x',
    'http://u:p@a', 'http://127.0.0.1:81o1', 'http://a:0', 'http://a:65536', 'http://a:99999', 'http://a:-1',
    'http://a: 80', 'http://a b', 'http://a:', 'http://a..b', f'http://{"a" * 64}', 'http://ü', 'http://[::1',
    'http://::1', 'http://a\n',
])
def test_no_request_can_be_sent_to(url: str) -> None:
    with pytest.raises(ConfigError, match="The replica 'one' needs a 'url' of http://") as caught:
        fleet_of({'replicas': [{'name': 'one', 'url': url}]})
    assert shown_url(url) in str(caught.value)


@pytest.mark.parametrize('url', [
    'http://a', 'https://a.b-c.example:65535/', 'http://127.0.0.1:1', 'http://[::1]:8101', 'http://decode_1.fleet.:8101',
])
def test_requests_can_be_sent_to(url: str) -> None:
    fleet = fleet_of({'replicas': [{'name': 'one', 'url': url}]})
    assert httpx.URL(fleet.replicas[0].url).host


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'nowhere\.yaml cannot be read'):
        read_fleet(tmp_path / 'nowhere.yaml')


def test_every_setting_is_read_somewhere() -> None:
    source = Path(pace_ros.__file__).parent / 'serving'
    read = {
        node.attr
        for path in source.rglob('*.py') for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    declared = {each.name.rpartition('.')[2] for tree in (GatewaySettings, Replica) for each in settings_of(tree)}
    assert declared <= read, f'nobody reads {declared - read}'


def test_capacity_is_what_slots_can_hold_at_most() -> None:
    assert Fleet((Replica('one', 'http://a', slots=2, context=100, kv=1000),)).replicas[0].capacity == 200
