"""What visitors say, from recognisers of other packages."""
from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

hri = pytest.importorskip('hri_msgs.msg', reason='hri_msgs is neither installed nor built')

from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from std_msgs.msg import Bool  # noqa: E402

from pace_msgs import msg  # noqa: E402
from pace_ros.clock import seconds  # noqa: E402
from pace_ros.ros.adapters import voices as voices_module  # noqa: E402
from pace_ros.ros.adapters.voices import Ear, Voices  # noqa: E402

pytestmark = pytest.mark.filterwarnings('ignore:Deprecated in favor of')  # rclpy's own call


class Recogniser:
    """Another package's recogniser in a node of its own."""

    def __init__(self, node: Any, namespace: str, *, latched: bool = False) -> None:
        self._node, self._namespace = node, namespace
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        qos = QoSProfile(depth=1, durability=durability)
        self.ids = node.create_publisher(hri.IdsList, f'{namespace}/tracked', qos)
        self._publishers: dict[str, Any] = {}

    def track(self, *ids: str) -> None:
        self.ids.publish(hri.IdsList(ids=list(ids)))

    def topic(self, kind: Any, name: str) -> Any:
        if name not in self._publishers:
            self._publishers[name] = self._node.create_publisher(kind, f'{self._namespace}/{name}', 10)
        return self._publishers[name]

    def speech(self, voice: str, **fields: Any) -> None:
        self.topic(hri.LiveSpeech, f'{voice}/speech').publish(hri.LiveSpeech(**fields))

    def speaking(self, voice: str, *, active: bool) -> None:
        self.topic(Bool, f'{voice}/is_speaking').publish(Bool(data=active))

    def heard_by_us(self, voice: str, until: Callable[..., None]) -> None:
        """Wait until both ends know each other."""
        for kind, name in ((hri.LiveSpeech, 'speech'), (Bool, 'is_speaking')):
            publisher = self.topic(kind, f'{voice}/{name}')
            until(lambda publisher=publisher: publisher.get_subscription_count() == 1)


@pytest.fixture
def namespace() -> str:
    return f'/humans_{time.monotonic_ns()}/voices'


@pytest.fixture
def heard() -> list[msg.Utterance]:
    return []


@pytest.fixture
def activity() -> list[bool]:
    return []


@pytest.fixture
def ears(client: Any, namespace: str, heard: list[msg.Utterance], activity: list[bool]) -> Any:
    made = Voices(client.node, namespace, heard.append, activity.append)
    yield made
    made.destroy()


@pytest.fixture
def other(spinning: Any) -> Any:
    return spinning('recogniser').node


def test_a_voice_is_heard_with_the_end_of_its_speech(
    ears: Voices, other: Any, namespace: str, heard: list[msg.Utterance], activity: list[bool],
    until: Callable[..., None],
) -> None:
    recogniser = Recogniser(other, namespace)
    until(ears.available)
    until(lambda: recogniser.ids.get_subscription_count() >= 1)
    recogniser.track('anna')
    recogniser.heard_by_us('anna', until)
    recogniser.speaking('anna', active=True)
    until(lambda: activity == [True])
    recogniser.speech('anna', incremental='how', confidence=1.0, locale='en_GB')
    until(lambda: len(heard) == 1)
    before = time.time()
    recogniser.speaking('anna', active=False)
    until(lambda: activity == [True, False])
    after = time.time()
    time.sleep(0.02)
    recogniser.speech('anna', incremental='how much', final='how much', confidence=0.75, locale='en_GB')
    until(lambda: len(heard) == 2)
    partial, final = heard
    assert (partial.text, partial.partial, seconds(partial.header.stamp)) == ('how', True, 0.0)
    assert (final.text, final.partial, final.conversation_id, final.locale) == ('how much', False, 'anna', 'en-GB')
    assert final.confidence == 0.75
    assert final.utterance_id == partial.utterance_id
    assert before - 0.001 <= seconds(final.header.stamp) <= after + 0.001


def test_a_latched_list_is_heard_by_a_latecomer(
    client: Any, other: Any, namespace: str, heard: list[msg.Utterance], until: Callable[..., None]
) -> None:
    recogniser = Recogniser(other, namespace, latched=True)
    recogniser.track('anna')
    ears = Voices(client.node, namespace, heard.append, lambda _active: None)
    recogniser.heard_by_us('anna', until)
    recogniser.speech('anna', final='hello', confidence=7.0)
    until(lambda: len(heard) == 1)
    assert (heard[0].text, heard[0].confidence, heard[0].locale) == ('hello', 1.0, '')
    assert seconds(heard[0].header.stamp) == 0.0
    assert client.warnings == []
    ears.destroy()


def test_voices_come_and_go(
    ears: Voices, other: Any, namespace: str, activity: list[bool], until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recogniser = Recogniser(other, namespace)
    until(lambda: recogniser.ids.get_subscription_count() >= 1)
    recogniser.track('anna', 'bert')
    recogniser.heard_by_us('anna', until)
    recogniser.heard_by_us('bert', until)
    recogniser.speaking('anna', active=True)
    until(lambda: activity == [True])
    recogniser.track('bert')  # the voice that spoke is gone
    until(lambda: activity == [True, False])
    speech = recogniser.topic(hri.LiveSpeech, 'anna/speech')
    assert speech.get_subscription_count() == 1, 'its last words may still come'
    monkeypatch.setattr(voices_module, 'LINGER', 0.0)
    recogniser.track('bert')
    until(lambda: speech.get_subscription_count() == 0)


def test_strange_names_are_refused_once_and_too_many_not_heard(
    client: Any, ears: Voices, other: Any, namespace: str, until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voices_module, 'MOST_VOICES', 2)
    recogniser = Recogniser(other, namespace)
    until(lambda: recogniser.ids.get_subscription_count() >= 1)
    for _ in range(2):
        recogniser.track('so ein/Name', '', 'anna', 'bert', 'carl')
    recogniser.heard_by_us('bert', until)
    until(lambda: len(client.warnings) == 2)
    assert other.count_subscribers(f'{namespace}/carl/speech') == 0


def test_an_adapter_left_out_hears_nothing(client: Any) -> None:
    ears = Voices(client.node, 'none', lambda _utterance: None, lambda _active: None)
    assert not ears.available()
    ears.destroy()


@pytest.mark.parametrize(('fields', 'locale'), [
    ({}, ''), ({'locale': 'en_GB'}, 'en-GB'), ({'language': 'de_DE'}, 'de-DE'), ({'locale': '', 'language': ''}, ''),
])
def test_a_recogniser_s_locale_may_be_missing_or_have_another_name(
    ears: Voices, heard: list[msg.Utterance], fields: dict[str, str], locale: str
) -> None:
    ears._on_speech('anna', Ear(), SimpleNamespace(final='hello', incremental='', confidence=0.5, **fields))
    assert [(each.text, each.locale) for each in heard] == [('hello', locale)]


def test_it_can_be_imported_with_the_rclpy_of_humble(monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks = object()
    monkeypatch.setitem(sys.modules, 'rclpy.event_handler', None)
    monkeypatch.setitem(sys.modules, 'rclpy.qos_event', SimpleNamespace(SubscriptionEventCallbacks=callbacks))
    spec = importlib.util.spec_from_file_location('voices_of_humble', voices_module.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert module.SubscriptionEventCallbacks is callbacks
