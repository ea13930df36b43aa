"""Speaking through a TTS action."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

tts_msgs = pytest.importorskip('tts_msgs.action', reason='tts_msgs is neither installed nor built for the tests')

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pace_ros.embodiment import Cue, Sentence, SpeechError  # noqa: E402
from pace_ros.ros.adapters.tts import ActionSpeaker, engine_locale, plain  # noqa: E402
from pace_ros.turn import Content  # noqa: E402

TTS = tts_msgs.TTS
PROMPT = 0.3  # s: at once, on a busy machine
CUE = Cue('turn', Content.ANSWER)
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings('ignore:coroutine .*_execute_goal.* was never awaited:RuntimeWarning'),
]


def words(*at: float) -> tuple[tuple[float, dict[str, Any]], ...]:
    return tuple((time_, {'word': f'word{n}'}) for n, time_ in enumerate(at))


class Said:
    """When a sentence was heard, and how saying it ended."""

    def __init__(self) -> None:
        self.started: list[float] = []
        self.silences: list[float] = []

    def __call__(self, silence: float) -> None:
        self.started.append(time.monotonic())
        self.silences.append(silence)


@pytest.fixture
def speaker(client: Any, action_name: str) -> Any:
    made = client.call(lambda: ActionSpeaker(client.node, action_name, deadline=2.0))
    yield made
    made.destroy()


async def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5.0
    while not condition():
        assert time.monotonic() < end, 'not in time'
        await asyncio.sleep(0.002)


async def there(speaker: ActionSpeaker) -> None:
    await eventually(speaker.available)


async def test_speech_begins_with_the_first_word(client: Any, speaker: Any, server: Any, action_name: str,
                                                 script: Any) -> None:
    one = server(TTS, action_name, script(feedback=words(0.1, 0.15), lasts=0.25))
    await there(speaker)
    said = Said()
    await speaker.say(await speaker.prepare('Hello there.', 'en-GB'), CUE, said)
    ended = time.monotonic()
    assert said.silences == [0.0]
    assert 0.0 <= said.started[0] - one.told[0] < PROMPT
    assert 0.0 <= ended - (one.begun[0] + 0.25) < 1.0
    assert (one.goals[0].input, one.goals[0].locale, one.goals[0].voice) == ('Hello there.', 'en_GB', '')
    assert client.warnings == []


async def test_without_words_speech_begins_with_acceptance_and_that_is_said_once(
    client: Any, speaker: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(lasts=0.8), script(lasts=0.2), script(lasts=0.2))
    await there(speaker)
    for nth in range(3):
        said = Said()
        await speaker.say(Sentence('Hello.', 'en-GB'), CUE, said)
        assert len(said.started) == 1
        late = said.started[0] - one.begun[nth]
        assert (0.4 < late < 0.8) if nth == 0 else late < PROMPT
    assert len(client.warnings) == 1
    assert 'tells of no words' in client.warnings[0]


async def test_a_slow_first_word_of_a_server_known_to_tell_them_is_waited_for(
    speaker: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(feedback=words(0.01), lasts=0.05), script(feedback=words(0.8), lasts=0.9))
    await there(speaker)
    await speaker.say(Sentence('One.', 'en'), CUE, Said())
    said = Said()
    await speaker.say(Sentence('Two.', 'en'), CUE, said)
    assert 0.0 <= said.started[0] - one.told[1] < PROMPT


async def test_a_cancelled_sentence_cancels_its_goal_at_once(
    speaker: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(feedback=words(0.01), lasts=10.0, stops_after=0.1),
                 script(feedback=words(0.01), lasts=0.05))
    await there(speaker)
    said = Said()
    saying = asyncio.create_task(speaker.say(Sentence('A long story.', 'en'), CUE, said))
    await eventually(lambda: bool(said.started))
    begin = time.monotonic()
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    assert time.monotonic() - begin < PROMPT
    await speaker.say(Sentence('Another.', 'en'), CUE, Said())
    assert one.cancels[0] - begin < PROMPT
    assert one.begun[1] - begin >= 0.1, 'the next sentence waits until the former has ended'
    assert one.ends == [5, 4]


async def test_a_sentence_cancelled_before_acceptance_is_cancelled_when_accepted(
    speaker: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(accepts_after=0.1, lasts=10.0))
    await there(speaker)
    saying = asyncio.create_task(speaker.say(Sentence('A story.', 'en'), CUE, Said()))
    await eventually(lambda: bool(one.requests))
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    await eventually(lambda: bool(one.ends))
    assert one.ends == [5]


@pytest.mark.parametrize(
    ('behaviour', 'message'),
    [
        ({'accepts': False}, 'refused'),
                ({'aborts': True, 'result': {'error_msg': 'no voice for xx_XX'}}, 'aborted: no voice for xx_XX'),
        ({'result': {'error_msg': 'mute'}}, 'mute'),
    ],
)
async def test_what_goes_wrong_is_a_speech_error_that_says_it(
    speaker: Any, server: Any, action_name: str, script: Any, behaviour: dict[str, Any], message: str
) -> None:
    server(TTS, action_name, script(**behaviour))
    await there(speaker)
    said = Said()
    with pytest.raises(SpeechError, match=message):
        await speaker.say(Sentence('Hello.', 'en'), CUE, said)
    assert said.started == []


async def test_a_server_slow_to_accept_is_a_speech_error_and_its_goal_is_cancelled(
    client: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(accepts_after=0.4, lasts=10.0))
    speaker = client.call(lambda: ActionSpeaker(client.node, action_name, deadline=0.2))
    await there(speaker)
    said = Said()
    with pytest.raises(SpeechError, match=r'within 0\.2 s'):
        await speaker.say(Sentence('Hello.', 'en'), CUE, said)
    await eventually(lambda: one.ends == [5])
    assert said.started == []
    speaker.destroy()


async def test_a_missing_server_is_a_speech_error(speaker: Any) -> None:
    assert not speaker.available()
    with pytest.raises(SpeechError, match='has no server'):
        await speaker.say(Sentence('Hello.', 'en'), CUE, Said())


async def test_a_server_that_goes_in_the_middle_is_a_speech_error(
    speaker: Any, server: Any, action_name: str, script: Any
) -> None:
    one = server(TTS, action_name, script(feedback=words(0.01), lasts=10.0))
    await there(speaker)
    said = Said()
    saying = asyncio.create_task(speaker.say(Sentence('Hello.', 'en'), CUE, said))
    await eventually(lambda: bool(said.started))
    await asyncio.to_thread(one.die)
    with pytest.raises(SpeechError, match='has gone'):
        await saying


async def test_a_sentence_that_never_ends_is_given_up(
    speaker: Any, server: Any, action_name: str, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('pace_ros.ros.adapters.tts.LONGEST', 0.1)
    monkeypatch.setattr('pace_ros.ros.adapters.tts.LONGEST_CHARACTER', 0.01)
    one = server(TTS, action_name, script(feedback=words(0.01), lasts=10.0))
    await there(speaker)
    with pytest.raises(SpeechError, match='still speaking'):
        await speaker.say(Sentence('Hello.', 'en'), CUE, Said())
    await eventually(lambda: bool(one.cancels))


async def test_a_sentence_of_markup_only_is_silent(speaker: Any, server: Any, action_name: str) -> None:
    one = server(TTS, action_name)
    await there(speaker)
    said = Said()
    await speaker.say(Sentence('<>', 'en'), CUE, said)
    assert (said.started, one.requests) == ([], [])


async def test_a_speaker_left_out_says_so(client: Any) -> None:
    speaker = ActionSpeaker(client.node, 'none', deadline=0.3)
    assert not speaker.available()
    with pytest.raises(SpeechError, match='not installed'):
        await speaker.say(Sentence('Hello.', 'en'), CUE, Said())


@pytest.mark.parametrize(
    ('tag', 'locale'),
    [('en-GB', 'en_GB'), ('zh-CN', 'zh_CN'), ('zh-Hans-CN', 'zh_CN'), ('zh', 'zh_CN'), ('en', 'en_US'), ('', ''),
     ('de', 'de'), ('EN_us', 'en_US')],
)
def test_locales_are_written_as_engines_write_them(tag: str, locale: str) -> None:
    assert engine_locale(tag) == locale


def test_markup_is_never_sent() -> None:
    assert plain('Look <do motion(wave)> \\vct=200\\ here {x}.') == 'Look do motion(wave) vct=200 here x .'


@given(st.text())
def test_plain_text_has_no_markup_left_and_stays_itself(text: str) -> None:
    assert not set(plain(text)) & set('<>\\{}')
    assert plain(plain(text)) == plain(text)


async def test_an_interface_that_lacks_a_field_is_an_error_of_speech(
    speaker: Any, server: Any, action_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server(TTS, action_name)
    await there(speaker)

    def goal(**fields: Any) -> Any:
        raise AssertionError(f'Invalid arguments passed to constructor: {sorted(fields)}')

    monkeypatch.setattr(speaker._kind, 'Goal', goal)
    with pytest.raises(SpeechError, match=r'can be made: .*input'):
        await speaker.say(Sentence('Hello.', 'en'), CUE, Said())
