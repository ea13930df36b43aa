"""What the guards keep from being a false hit, and the true hits they cost, on labelled pairs of questions.

    scripts/campaign.sh guards [FOLDER]

FOLDER holds the data files. Each set at the thresholds below: hits among the true and the false pairs by similarity
alone, and with guards; *lost* is the share of true hits that the guards refuse. A question of CrossWOZ that leans on
the dialogue has its venue in its key, as a scope would have it, and keys must be equal; those that name a venue must
name the same. One intent (BANKING77) or one knowledge entry (showroom) is looser than one question: they are totalled
apart. --show N prints N refused true pairs and N false hits of each set.
"""
from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from pace_ros import packaged
from pace_ros.cache.guards import Guards
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Vector, open_embedder
from pace_ros.facts import FactExtractor, Polarity, ProductNames

THRESHOLDS = (0.90, 0.95, 0.98)
FOLDER = Path('../shared/data')
LEAST = 0.70  # true hits lost are counted from here on as well: paraphrases often score so low
LOOSE = ('BANKING77', 'showroom')  # one intent, one entry: their questions may well differ


class Asked(NamedTuple):
    """A question in its language, with what its key holds beside that."""

    text: str
    locale: str
    key: str = ''


@dataclass
class Pairs:
    """Pairs of one kind, scored."""

    same: bool
    found: list[tuple[float, str, Asked, Asked]] = field(default_factory=list)

    def row(self, least: float) -> str:
        """Hits at a threshold, by similarity alone and with guards."""
        near = [reason for score, reason, *_ in self.found if score >= least]
        kept = near.count('')
        share = [f'{count:6} ({100 * count / len(self.found):5.2f} %)' for count in (len(near), kept)]
        lost = f'{100 * (1 - kept / len(near)):6.2f} %' if near and self.same else '       -'
        return f'{share[0]} {share[1]} {lost}'


class Bench:
    """Scores pairs with one encoder and one set of names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sets: dict[str, Pairs] = {}
        self._embedder = open_embedder(Embedding())
        self._vectors: dict[str, Vector] = {}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a data file."""
        lines = (self.folder / f'{name}.jsonl').read_text(encoding='utf-8').splitlines()
        return [json.loads(line) for line in lines]

    def vector(self, text: str) -> Vector:
        """The vector of a question."""
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed(text)
        return self._vectors[text]

    def add(self, guards: Guards, name: str, same: bool, pairs: Iterable[tuple[Asked, Asked]]) -> None:
        """Score the pairs of one kind."""
        scored = self.sets.setdefault(name, Pairs(same))
        for one, other in pairs:
            score = float(self.vector(one.text) @ self.vector(other.text))
            scored.found.append((score, refusal(guards, one, other), one, other))


def refusal(guards: Guards, one: Asked, other: Asked) -> str:
    """Why a pair is no hit at any similarity."""
    if one.key != other.key:
        return 'key'
    return guards.differs(guards.asked(one.text, one.locale), other.text, other.locale)


def guards_for(names: ProductNames) -> Guards:
    """The packaged opposites with these names."""
    return Guards(FactExtractor(names, Polarity.read(packaged.config_dir() / 'antonyms.yaml')))


def crosswoz(bench: Bench) -> None:
    """Pairs by kind, both questions of which are in the data."""
    venues = {row['名称']: ('venue', row['名称']) for row in bench.rows('crosswoz_kb_zh')}
    guards = guards_for(ProductNames(venues))
    asked = {row['id']: row for row in bench.rows('crosswoz_questions_zh')}
    for row in bench.rows('crosswoz_pairs_zh'):
        one, other = asked.get(row['a_id']), asked.get(row['b_id'])
        if one is None or other is None:
            continue
        keys = [each['entity'] if each['context_dependent'] else '' for each in (one, other)]
        if row['kind'] in ('same_slot_wording', 'other_slot'):  # labelled as asked of the same venue
            keys[1] = keys[0]
        pair = Asked(row['a'], 'zh', keys[0]), Asked(row['b'], 'zh', keys[1])
        bench.add(guards, f'CrossWOZ {row["kind"]}', row['same_answer'], [pair])


def timeqa(bench: Bench, guards: Guards) -> None:
    """Pairs of one group without a common answer."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in bench.rows('timeqa_nearmiss_en'):
        groups[row['group']].append(row)
    for rows in groups.values():
        for one, other in itertools.combinations(rows, 2):
            if not set(one['answers']) & set(other['answers']):
                bench.add(guards, 'TimeQA other period', False,
                          [(Asked(one['question'], 'en'), Asked(other['question'], 'en'))])


def xquad(bench: Bench, guards: Guards) -> None:
    """A question and its noisy forms; the same noisy forms and other questions of the passage."""
    passages: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in bench.rows('xquad_noise_en_zh'):
        passages[row['passage_id']].append(row)
    for rows in passages.values():
        for one, other in itertools.product(rows, rows):
            for form in ('asr_en', 'keyboard_en', 'back_translated_en', 'question_zh'):
                pair = Asked(one[form], form[-2:]), Asked(other['question_en'], 'en')
                same = one is other
                bench.add(guards, f'XQuAD {form}{"" if same else ", other question"}', same, [pair])


def banking(bench: Bench, guards: Guards) -> None:
    """Test against train questions; of the false pairs only those that a threshold lets through are kept."""
    rows = bench.rows('banking77_en')
    train, test = ([row for row in rows if row['split'] == split] for split in ('train', 'test'))
    known = np.stack([bench.vector(row['text']) for row in train])
    same, other = Pairs(same=True), Pairs(same=False)
    bench.sets |= {'BANKING77 same intent': same, 'BANKING77 other intent': other}
    for row in test:
        for score, each in zip(known @ bench.vector(row['text']), train, strict=True):
            pairs = same if each['intent'] == row['intent'] else other
            one, two = Asked(row['text'], 'en'), Asked(each['text'], 'en')
            reason = refusal(guards, one, two) if score >= LEAST else 'far'
            pairs.found.append((float(score), reason, one, two))


def showroom(bench: Bench, guards: Guards) -> None:
    """Wordings of one knowledge entry, and of two."""
    for locale in ('zh', 'en'):
        asked = list(_questions(locale))
        for (entry, one), (other_entry, other) in itertools.combinations(asked, 2):
            same = entry == other_entry
            bench.add(guards, f'showroom {locale}, {"one entry" if same else "two entries"}', same,
                      [(Asked(one, locale), Asked(other, locale))])


def timing(guards: Guards) -> None:
    """Time of what a lookup adds: the question's facts and one candidate's difference."""
    for locale in ('zh', 'en'):
        asked = [question for _, question in _questions(locale)]
        for question in asked:
            guards.differs(guards.asked(question, locale), question, locale)
        times = []
        for question in asked * 5:
            begin = time.perf_counter()
            guards.differs(guards.asked(question, locale), question, locale)
            times.append(1e3 * (time.perf_counter() - begin))
        print(f'asked and one differs, {locale}: median {statistics.median(times):.3f} ms, '
              f'p95 {np.percentile(times, 95):.3f} ms ({len(asked)} showroom questions)')


def _questions(locale: str) -> Iterator[tuple[str, str]]:
    """Entry and wording."""
    for file in sorted((packaged.config_dir() / 'knowledge').glob('*.yaml')):
        for entry in yaml.safe_load(file.read_text(encoding='utf-8')):
            for question in entry['questions'].get(locale, ()):
                yield entry['id'], question


def show(name: str, pairs: Pairs, least: float, count: int) -> None:
    """Print some of the pairs that went wrong."""
    wrong: Callable[[str], bool] = bool if pairs.same else (lambda reason: not reason)
    for score, reason, one, other in sorted(pairs.found, key=lambda each: -each[0]):
        if count and score >= least and wrong(reason):
            count -= 1
            print(f'    {name}: {score:.2f} {reason or "hit"}: {one.text} | {other.text}')


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument('folder', nargs='?', type=Path, default=FOLDER)
    parser.add_argument('--show', type=int, default=0)
    given = parser.parse_args()
    bench = Bench(given.folder)
    products = guards_for(ProductNames.read(packaged.config_dir() / 'names.yaml'))
    crosswoz(bench)
    for part in (timeqa, xquad, banking, showroom):
        part(bench, products)
    print(f'{"pairs":44} {"n":>8} theta  by similarity   with guards          lost')
    for name, pairs in bench.sets.items():
        for least in ((LEAST, *THRESHOLDS) if pairs.same else THRESHOLDS):
            print(f'{name + (" (true)" if pairs.same else " (false)"):44} {len(pairs.found):8}  {least:.2f} '
                  f'{pairs.row(least)}')
        print(f'    refused from {LEAST:.2f} on:',
              dict(Counter(reason for score, reason, *_ in pairs.found if score >= LEAST and reason).most_common()))
        show(name, pairs, LEAST if pairs.same else THRESHOLDS[0], given.show)
    for title, left_out in (('of one question', LOOSE), ('all', ())):
        for least in (LEAST, *THRESHOLDS):
            near = [reason for name, pairs in bench.sets.items() if pairs.same and not name.startswith(left_out)
                    for score, reason, *_ in pairs.found if score >= least]
            lost = 100 * (1 - near.count('') / len(near)) if near else 0.0
            print(f'true pairs, {title}, from {least:.2f} on: {len(near)}, lost {lost:.2f} %')
    timing(products)


if __name__ == '__main__':
    main()
