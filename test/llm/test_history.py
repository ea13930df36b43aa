"""What a prompt repeats, and that with layout append it only ever grows."""
from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros import packaged
from pace_ros.conversation import HISTORY_LIMIT, Conversation
from pace_ros.llm import Exchange, Message, PromptBook
from pace_ros.llm.history import as_it_stands, reminded, told
from pace_ros.llm.prompt import new_passages
from pace_ros.retrieval import KnowledgeEntry, RetrievalHit

BOOK = PromptBook.read(packaged.config_dir() / 'persona.yaml')
ENTRIES = [KnowledgeEntry(f'e{number}', {}, {'en': f'Fact {number}.'}) for number in range(6)]
HITS = [RetrievalHit(entry, 0.9) for entry in ENTRIES]


@dataclass(frozen=True)
class Turn:
    """A question, the knowledge near it, and whether the model answers it or a level above."""

    question: str
    near: tuple[int, ...]
    by_model: bool


TURNS = st.lists(st.builds(
    Turn, st.sampled_from(['How far?', 'How much?', '- Fact 1.', '']),
    st.lists(st.integers(0, 5), unique=True, max_size=4).map(tuple), st.booleans(),
), min_size=1, max_size=40)


def prompts(turns: list[Turn], history_turns: int, layout: str) -> list[list[Message]]:
    """The prompt of every turn that reaches the model, in one visit."""
    visit, made = Conversation('c', 0.0), []
    for number, turn in enumerate(turns):
        question, answer = f'{turn.question} {number}', f'Answer {number}.'
        if not turn.by_model:
            visit.remember(question, answer)
            continue
        seen = reminded(visit.history, history_turns, in_blocks=layout == 'append')
        passages = [HITS[each] for each in turn.near]
        messages = BOOK.messages(question, 'en-US', passages=passages, history=seen, persona=True, layout=layout)
        new = tuple(hit.entry for hit in new_passages(passages, seen)) if layout == 'append' else ()
        visit.remember(question, answer, asked=messages[-1]['content'], entries=new)
        made.append(messages)
    return made


def begins_with(later: list[Message], earlier: list[Message]) -> bool:
    return later[:len(earlier)] == earlier


@settings(max_examples=150, deadline=None)
@given(TURNS, st.integers(1, 8))
def test_with_append_each_prompt_begins_with_the_one_before_it(turns: list[Turn], history_turns: int) -> None:
    """But where a block of the history is left behind: at most once in ``history_turns`` turns."""
    made = prompts(turns, history_turns, 'append')
    broken = sum(not begins_with(later, earlier) for earlier, later in itertools.pairwise(made))
    assert broken <= max(0, len(turns) - history_turns) // history_turns
    if len(turns) <= 2 * history_turns:
        assert broken == 0


@settings(max_examples=50, deadline=None)
@given(TURNS, st.integers(1, 8))
def test_with_append_whatever_is_near_is_in_the_prompt_once(turns: list[Turn], history_turns: int) -> None:
    made = prompts(turns, history_turns, 'append')
    for turn, messages in zip([turn for turn in turns if turn.by_model], made, strict=True):
        lines = [line for message in messages if message['role'] != 'assistant'
                 for line in message['content'].split('\n') if line.startswith('- Fact')]
        facts = [line for line in lines if line in {f'- Fact {number}.' for number in range(6)}]
        assert len(set(facts)) == len(facts)
        assert {f'- Fact {number}.' for number in turn.near} <= set(facts)


@settings(max_examples=30, deadline=None)
@given(TURNS, st.integers(0, 8))
def test_in_front_the_history_is_plain(turns: list[Turn], history_turns: int) -> None:
    for messages in prompts(turns, history_turns, 'front'):
        assert len(messages) <= 2 + 2 * history_turns
        assert not any('Showroom notes' in message['content'] for message in messages[1:])


def test_append_by_hand() -> None:
    first = Turn('How far?', (0, 1), by_model=True)
    l1 = Turn('Which colours?', (2,), by_model=False)
    second = Turn('And in winter?', (1, 2), by_model=True)
    made = prompts([first, l1, second], 4, 'append')
    assert [message['content'] for message in made[1][1:]] == [
        'Showroom notes:\n- Fact 0.\n- Fact 1.\n\nHow far? 0', 'Answer 0.',
        'Which colours? 1', 'Answer 1.',
        'Showroom notes:\n- Fact 2.\n\nAnd in winter? 2',
    ]
    assert 'Showroom notes' not in made[1][0]['content']


def numbered(count: int, since: int = 0) -> list[Exchange]:
    return [Exchange(f'q{number}', 'a', number=number) for number in range(since, since + count)]


def test_in_blocks_the_history_grows_to_twice_its_turns_less_one() -> None:
    sizes = [len(reminded(numbered(count), 3, in_blocks=True)) for count in range(13)]
    assert sizes == [0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3]
    assert [len(reminded(numbered(count), 3, in_blocks=False)) for count in range(6)] == [0, 1, 2, 3, 3, 3]
    assert reminded(numbered(5), 0, in_blocks=True) == ()


@given(st.integers(0, 400), st.integers(1, 50))
@settings(max_examples=50, deadline=None)
def test_the_limit_of_what_is_remembered_does_not_move_a_block(count: int, turns: int) -> None:
    visit = Conversation('c', 0.0)
    for number in range(count):
        visit.remember(f'q{number}', 'a')
    whole = reminded(numbered(count), turns, in_blocks=True)
    assert len(visit.history) == min(count, HISTORY_LIMIT)
    assert list(reminded(visit.history, turns, in_blocks=True)) == list(whole)


def test_knowledge_that_is_no_longer_served_is_not_repeated() -> None:
    history = [Exchange('a?', 'A.', 'Notes: 0\n\na?', (ENTRIES[0],), 0),
               Exchange('b?', 'B.', 'Notes: 1\n\nb?', (ENTRIES[1],), 1)]
    now = as_it_stands(history, lambda entry: entry is ENTRIES[1])
    assert [each.asked for each in now] == ['', 'Notes: 1\n\nb?']
    assert [each.question for each in now] == ['a?', 'b?']
    assert [each.number for each in now] == [0, 1]
    assert told(now) == [ENTRIES[1]]
