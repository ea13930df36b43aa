"""The volatility classifiers on labelled questions: how much of what ages they find, and what it costs in hits.

    scripts/campaign.sh volatility [QUESTIONS.jsonl]

Lexicon, learned and either on the showroom's questions and on each split of the data file. The learned classifier
speaks out of fold (five stratified folds, questions of one entry in one fold) wherever it may be trained, i.e. on
the showroom and the train split; on other splits it is trained on the train split. The lexicon was written with the
train split at hand, so beside its figures there stand those of its *earned* lines (in each fold only lines count that
are right more often than wrong on the other four) and of its *showroom* classes alone, which were not.
"""
from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.model_selection import StratifiedGroupKFold

from pace_ros import packaged
from pace_ros.cache.volatility import EitherClassifier, Lexicon
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Vector, open_embedder
from pace_ros.study.labelled import Labelled, encode, knowledge_questions, read_labelled
from pace_ros.study.volatility import (
    FOLDS,
    SEED,
    Flags,
    Scores,
    counted,
    out_of_fold,
    train,
    unseen_verdicts,
    verdicts,
)

SHOWROOM = {'price', 'offer', 'stock', 'delivery', 'finance', 'hours', 'service', 'event', 'now'}
DATA = Path('../shared/data/evergreen_volatility_zh_en.jsonl')


def flags_of(asked: Sequence[Labelled]) -> Flags:
    """The labels."""
    return np.array([each.volatile for each in asked], np.bool_)


def earned(lexicon: Lexicon, asked: Sequence[Labelled]) -> Flags:
    """The lexicon's verdicts by lines that are right more often than wrong on the other folds."""
    said, flags = [lexicon.classify(each.question, each.language) for each in asked], flags_of(asked)
    result = np.zeros(len(asked), np.bool_)
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=SEED)
    for others, mine in folds.split(np.zeros((len(asked), 1)), flags, [each.group for each in asked]):
        balance: dict[str, int] = defaultdict(int)
        for row in others:
            balance[said[row].reason] += 1 if flags[row] else -1
        for row in mine:
            result[row] = said[row].volatile and balance[said[row].reason] > 0
    return result


def recall_at(flags: Flags, scores: Scores, precision: float) -> float:
    """The largest recall with at least this precision."""
    reached, recall, _ = precision_recall_curve(flags, scores)
    return float(max(recall[reached >= precision], default=0.0))


def show(name: str, asked: Sequence[Labelled], said: Flags) -> None:
    """Print one row."""
    result = counted(asked, said)
    both = result.precision + result.recall
    print(f'{name:36} precision {result.precision:.3f}  recall {result.recall:.3f} ({result.found}/{result.volatile})  '
          f'F1 {2 * result.precision * result.recall / both if both else 0.0:.3f}  '
          f'stable called volatile {result.false_share:.3f} ({result.wrong}/{result.stable})')


def compare(name: str, lexicon: Lexicon, asked: Sequence[Labelled], vectors: Vector) -> None:
    """Three classifiers where the learned one may be trained: out of fold."""
    by_lexicon, by_head, flags = verdicts(lexicon, asked, vectors), unseen_verdicts(asked, vectors), flags_of(asked)
    lexicons = {'lexicon': by_lexicon, 'earned lines': earned(lexicon, asked), 'showroom classes': np.array(
        [lexicon.classify(each.question, each.language).category in SHOWROOM for each in asked], np.bool_)}
    for kind, said in (*lexicons.items(), ('learned, out of fold', by_head), ('either', by_lexicon | by_head)):
        show(f'{name} {kind}', asked, said)
    scores = out_of_fold(vectors, flags, [each.group for each in asked])
    print(f'{name} average precision: learned {average_precision_score(flags, scores):.3f}, chance {flags.mean():.3f}')
    for kind, said in lexicons.items():
        result = counted(asked, said)
        print(f'{name} {kind}: average precision {average_precision_score(flags, said):.3f}; at its precision '
              f'({result.precision:.3f}) recall {result.recall:.3f}, learned '
              f'{recall_at(flags, scores, result.precision):.3f}')


def main() -> None:
    """Print the tables and the time of a verdict."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    embedder, lexicon = open_embedder(Embedding()), Lexicon.read(packaged.config_dir() / 'lexicon')
    showroom, room = encode(knowledge_questions([packaged.config_dir() / 'knowledge']), embedder)
    asked, vectors = encode(read_labelled(path), embedder)
    for key in ('zh', 'en'):
        rows = [row for row, each in enumerate(showroom) if each.language == key]
        compare(f'{key} showroom', lexicon, [showroom[row] for row in rows], room[rows])
        rows = [row for row, each in enumerate(asked) if each.language == key and each.split == 'train']
        compare(f'{key} train', lexicon, [asked[row] for row in rows], vectors[rows])
    rows = [row for row, each in enumerate(asked) if each.split == 'train']
    learned = train([*showroom, *(asked[row] for row in rows)], np.vstack([room, vectors[rows]]))
    either = EitherClassifier(lexicon, learned)
    for split in sorted({each.split for each in asked} - {'train'}):
        for key in ('zh', 'en'):
            rows = [row for row, each in enumerate(asked) if each.language == key and each.split == split]
            for kind, classifier in (('lexicon', lexicon), ('learned', learned), ('either', either)):
                mine = [asked[row] for row in rows]
                show(f'{key} {split}, held out, {kind}', mine, verdicts(classifier, mine, vectors[rows]))
    for kind, classifier in (('lexicon', lexicon), ('learned', learned), ('either', either)):
        taken = []
        for each, vector in zip(showroom, room, strict=True):
            begin = time.perf_counter()
            classifier.classify(each.question, each.language, vector)
            taken.append(time.perf_counter() - begin)
        print(f'time of a verdict, {kind}: median {1e6 * np.median(taken):.0f} us, '
              f'p99 {1e6 * np.percentile(taken, 99):.0f} us (showroom questions, vector given)')


if __name__ == '__main__':
    main()
