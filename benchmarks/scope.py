"""How well questions that lean on the dialogue are told from those that stand by themselves, and what it costs.

    scripts/campaign.sh scope [FOLDER]

Venues play the part of the models on CrossWOZ and DSTC10. A question that leans is safe if it gets no key, or one
with the subject of its conversation. The exit code is 1 if one text gets the same key for two subjects, or if fewer
than 98 % of the showroom's own questions stand by themselves.
"""
from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pace_ros import packaged
from pace_ros.cache.personal import Personal
from pace_ros.cache.scope import Scope, ScopeReader
from pace_ros.facts.names import ProductNames
from pace_ros.facts.numerals import plain
from pace_ros.llm import Exchange
from pace_ros.retrieval.files import read_knowledge

DATA = Path('../shared/data')
LEXICONS = packaged.config_dir() / 'lexicon'
SEEN = 4  # exchanges of history
DEICTIC = re.compile(r'\b(it|its|that|this|they|their|them|these|those|there|one)\b', re.IGNORECASE)
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines() if line.strip()]


def venues(names: Iterable[str]) -> ScopeReader:
    """A reader that knows these venues."""
    known = ProductNames({each: ('venue', plain(each)) for each in sorted(names) if each})
    return ScopeReader.read(LEXICONS, known, ('venue',))


def kind(scope: Scope, entity: str | None = None) -> str:
    """What became of a question: none, its focus, another one's, or key without subject."""
    if scope.key is None:
        return 'no key'
    if not scope.subject:
        return 'alone' if scope.key in ('zh', 'en') else 'several in key'
    return 'focus' if entity is None or plain(entity) == scope.subject[0][1] else 'other focus'


def table(title: str, counted: Counter[str]) -> None:
    """Print one row."""
    total = sum(counted.values())
    print(f'{title:64}', '  '.join(f'{name} {count} ({count / total:.1%})' for name, count in counted.most_common()))


def crosswoz_questions(data: Path, reader: ScopeReader) -> dict[str, Row]:
    """Single questions by label, without history and after their venue was named."""
    questions = rows(data / 'crosswoz_questions_zh.jsonl')
    for dependent in (True, False):
        mine = [each for each in questions if each['context_dependent'] == dependent and each['entity']]
        word = 'leans' if dependent else 'names its venue'
        table(f'crosswoz, {word}, nothing said before', Counter(
            kind(reader.of(each['question'], 'zh', ()), each['entity']) for each in mine))
        table(f'crosswoz, {word}, after its venue was named', Counter(
            kind(reader.of(each['question'], 'zh', (Exchange(f'我想去{each["entity"]}。', '好的。'),)), each['entity'])
            for each in mine))
    return {each['id']: each for each in questions}


def crosswoz_pairs(data: Path, reader: ScopeReader, by_id: dict[str, Row]) -> int:
    """One text about two venues: pairs that share a key in spite of it, each venue named before."""
    counted: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for pair in rows(data / 'crosswoz_pairs_zh.jsonl'):
        if pair['kind'] != 'same_text_other_entity':
            continue
        one, other = by_id[pair['a_id']], by_id[pair['b_id']]
        keys = [reader.of(each['question'], 'zh', (Exchange(f'我想去{each["entity"]}。', '好的。'),)).key
                for each in (one, other)]
        counted['no key' if None in keys else 'same key' if keys[0] == keys[1] else 'different keys'] += 1
        alone[kind(reader.of(pair['a'], 'zh', ()))] += 1
    table('crosswoz, one text, two venues, each named before', counted)
    table('crosswoz, one text, two venues, nothing said before', alone)
    return counted['same key']


def history_of(turns: Sequence[Row], place: int) -> tuple[Exchange, ...]:
    """What was said before a user turn, pairwise."""
    texts = [each['text'] for each in turns[:place]]
    pairs = zip(texts[::2], texts[1::2], strict=False)
    return tuple(Exchange(asked, said) for asked, said in pairs)[-SEEN:]


def crosswoz_dialogues(data: Path, reader: ScopeReader, by_id: dict[str, Row]) -> None:
    """Whole dialogues, in which each annotated question has its venue from the annotators."""
    counted: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    turns = 0
    for dialogue in rows(data / 'crosswoz_dialogues_zh.jsonl'):
        for place in range(0, len(dialogue['turns']), 2):
            scope = reader.of(dialogue['turns'][place]['text'], 'zh', history_of(dialogue['turns'], place))
            turns += 1
            asked = by_id.get(f'cw-{dialogue["dialogue"]}-{place}')
            if asked is not None and asked['entity']:
                counted[asked['context_dependent']][kind(scope, asked['entity'])] += 1
    table(f'crosswoz dialogues ({turns} turns), leans', counted[True])
    table('crosswoz dialogues, names its venue', counted[False])


def english(data: Path) -> None:
    """Spoken and written English: turns with a deictic word, and first turns, which have nothing to lean on."""
    known = {each['entity'] for each in rows(data / 'dstc10_faq_kb_en.jsonl') if each['entity']}
    reader, counted = venues(known), {True: Counter[str](), False: Counter[str]()}
    for each in rows(data / 'dstc10_spoken_turns_en.jsonl'):
        scope = reader.of(each['asr_1best'], 'en', history_of(each['history'], len(each['history'])))
        counted[bool(DEICTIC.search(each['asr_1best']))][kind(scope)] += 1
    table('dstc10 (speech recogniser), with a deictic word', counted[True])
    table('dstc10, without', counted[False])
    reader, first, later = venues(()), Counter[str](), Counter[str]()
    for dialogue in rows(data / 'sgd_rentalcars_en.jsonl'):
        for place in range(0, len(dialogue['turns']), 2):
            text = dialogue['turns'][place]['text']
            scope = reader.of(text, 'en', history_of(dialogue['turns'], place))
            if place == 0:
                first[kind(scope)] += 1
            elif '?' in text and DEICTIC.search(text):
                later[kind(scope)] += 1
    table('sgd car rental, first turns', first)
    table('sgd car rental, later questions with a deictic word', later)


def showroom() -> float:
    """The share of the knowledge base's questions that stand by themselves; with the time of a reading."""
    reader = ScopeReader.read(LEXICONS, ProductNames.read(packaged.config_dir() / 'names.yaml'))
    personal = Personal.read(LEXICONS)
    asked = [(question, tongue) for entry in read_knowledge([packaged.config_dir() / 'knowledge'])
             for tongue, questions in entry.questions.items() for question in questions]
    alone = [reader.of(question, tongue, ()).key == tongue for question, tongue in asked]
    disclosing = sum(bool(personal.disclosed(question, tongue)) for question, tongue in asked)
    print(f'showroom: {sum(alone)} of {len(alone)} questions stand by themselves ({sum(alone) / len(alone):.2%}), '
          f'{disclosing} called personal')
    history = tuple(Exchange(f'How far does the Lark go, visitor {place}?', 'The Lark goes far.') for place in range(4))
    for name, said in (('no history', ()), ('4 exchanges', history)):
        spent = []
        for question, tongue in asked:  # each text for the first time, as in a running showroom
            fresh = f'{question} {len(spent)}'
            begin = time.perf_counter()
            reader.of(fresh, tongue, said)
            personal.in_conversation(fresh, 'It goes far.', said)
            spent.append(1e6 * (time.perf_counter() - begin))
        print(f'scope and personal, {name}: median {statistics.median(spent):.0f} us, '
              f'p99 {statistics.quantiles(spent, n=100)[98]:.0f} us')
    return sum(alone) / len(alone)


def main(data: Path = DATA) -> int:
    """Print the tables."""
    share = showroom()
    reader = venues({each['名称'] for each in rows(data / 'crosswoz_kb_zh.jsonl')})
    by_id = crosswoz_questions(data, reader)
    shared = crosswoz_pairs(data, reader, by_id)
    crosswoz_dialogues(data, reader, by_id)
    english(data)
    return 0 if not shared and share >= 0.98 else 1


if __name__ == '__main__':
    sys.exit(main(*map(Path, sys.argv[1:])))
