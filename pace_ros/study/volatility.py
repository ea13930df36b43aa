"""Trains the learned volatility classifier and measures all of them against labelled questions.

    scripts/run python3 -m pace_ros.study.volatility train volatility.npz --data QUESTIONS.jsonl
    scripts/run python3 -m pace_ros.study.volatility report --data QUESTIONS.jsonl

Without ``--head`` the report takes the learned classifier's word on each question from a model trained on the others
(five folds); with it, that of the file, which means something only for questions the file was not trained on.

A line of a data file is {"question": ..., "locale": ..., "volatile": true} or {"question_zh": ..., "question_en": ...,
"volatile": true}. The questions of the knowledge base, with the flags of their entries, are always there.
"""
from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import SVC

from pace_ros import packaged
from pace_ros.cache.volatility import Lexicon, VolatilityClassifier
from pace_ros.cache.volatility_head import COMMON, Head, LearnedClassifier
from pace_ros.config_levels import Embedding
from pace_ros.embedding import Embedder, EmbeddingError, Vector, open_embedder
from pace_ros.packaged import MissingPackage
from pace_ros.study.labelled import DataError, Labelled, encode, knowledge_questions, read_labelled

WIDTH, COST = 2.0, 3.0  # of the kernel; of an error in training
FOLDS, SEED = 5, 7
PRECISION = 0.7  # out of fold, at which the threshold stands
Flags = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Count:
    """How often a classifier was right: volatile found, volatile in all, stable found wrongly, stable in all."""

    found: int
    volatile: int
    wrong: int
    stable: int

    @property
    def recall(self) -> float:
        """Share of the volatile questions found."""
        return self.found / self.volatile if self.volatile else float('nan')

    @property
    def precision(self) -> float:
        """Share of the found that are volatile."""
        return self.found / (self.found + self.wrong) if self.found + self.wrong else float('nan')

    @property
    def false_share(self) -> float:
        """Share of the stable questions called volatile."""
        return self.wrong / self.stable if self.stable else float('nan')


def out_of_fold(vectors: Vector, volatile: Flags, groups: Sequence[str]) -> Scores:
    """The margin of each question from a model trained on the other folds only."""
    margins = np.zeros(len(volatile))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=SEED)
    for others, mine in folds.split(vectors, volatile, groups):
        margins[mine] = _machine().fit(vectors[others], volatile[others]).decision_function(vectors[mine])
    return margins


def train_head(vectors: Vector, volatile: Flags, groups: Sequence[str], precision: float = PRECISION) -> Head:
    """A head whose probabilities and threshold come from questions it had not seen.

    The threshold is the lowest with at least ``precision`` out of fold. Raises DataError for too few questions.
    """
    few = min(len({group for group, flag in zip(groups, volatile, strict=True) if flag is kind}) for kind in
              (np.True_, np.False_)) if len(groups) else 0
    if few < FOLDS:
        raise DataError(f'There are {few} volatile or stable questions where at least {FOLDS} of each are needed.')
    margins = out_of_fold(vectors, volatile, groups)
    scale = LogisticRegression(C=1e6).fit(margins[:, None], volatile)
    slope, offset = float(scale.coef_[0, 0]), float(scale.intercept_[0])
    if slope <= 0:
        raise DataError('The labels cannot be told from the questions: nothing was learned.')
    machine = _machine().fit(vectors, volatile)
    return Head(
        landmarks=np.asarray(machine.support_vectors_, np.float32),
        weights=np.asarray(slope * machine.dual_coef_[0], np.float32),
        width=WIDTH,
        bias=slope * float(machine.intercept_[0]) + offset,
        threshold=_threshold(1.0 / (1.0 + np.exp(-(slope * margins + offset))), volatile, precision),
        stable=int(np.sum(~volatile)),
        volatile=int(np.sum(volatile)),
    )


def train(questions: Sequence[Labelled], vectors: Vector, precision: float = PRECISION) -> LearnedClassifier:
    """One head a language with enough questions, and one on all. Raises DataError if there are too few in all."""
    heads = {}
    for name in [*sorted({each.language for each in questions}), COMMON]:
        mine = [row for row, each in enumerate(questions) if name in (COMMON, each.language)]
        flags = np.array([questions[row].volatile for row in mine], np.bool_)
        try:
            heads[name] = train_head(vectors[mine], flags, [questions[row].group for row in mine], precision)
        except DataError:
            if name == COMMON:
                raise
    return LearnedClassifier(heads)


def verdicts(classifier: VolatilityClassifier, questions: Sequence[Labelled], vectors: Vector) -> Flags:
    """What a classifier says of each question, shape (n,)."""
    return np.array([classifier.classify(each.question, each.language, vector).volatile
                     for each, vector in zip(questions, vectors, strict=True)], np.bool_)


def unseen_verdicts(questions: Sequence[Labelled], vectors: Vector, precision: float = PRECISION) -> Flags:
    """What heads of each language say of questions they were not trained on, at this precision, shape (n,)."""
    said = np.zeros(len(questions), np.bool_)
    for key in {each.language for each in questions}:
        rows = [row for row, each in enumerate(questions) if each.language == key]
        flags = np.array([questions[row].volatile for row in rows], np.bool_)
        margins = out_of_fold(vectors[rows], flags, [questions[row].group for row in rows])
        said[rows] = margins >= _threshold(margins, flags, precision)
    return said


def counted(questions: Sequence[Labelled], said: Flags) -> Count:
    """How verdicts agree with the labels."""
    tally = Counter(zip([each.volatile for each in questions], said.tolist(), strict=True))
    return Count(tally[True, True], tally[True, True] + tally[True, False],
                 tally[False, True], tally[False, True] + tally[False, False])


def categories(lexicon: Lexicon, questions: Iterable[Labelled]) -> dict[str, Count]:
    """By class of volatility, what the lexicon puts there; ``volatile`` and ``stable`` count all questions."""
    asked = list(questions)
    tallies: dict[str, Counter[bool]] = defaultdict(Counter)
    for each in asked:
        if category := lexicon.classify(each.question, each.language).category:
            tallies[category][each.volatile] += 1
    total = Counter(each.volatile for each in asked)
    return {key: Count(tally[True], total[True], tally[False], total[False]) for key, tally in sorted(tallies.items())}


def _machine() -> SVC:
    return SVC(C=COST, kernel='rbf', gamma=WIDTH)


def _threshold(probabilities: Scores, volatile: Flags, precision: float) -> float:
    reached, _, thresholds = precision_recall_curve(volatile, probabilities)
    enough = np.flatnonzero(reached[:-1] >= precision)
    return float(thresholds[enough[0]]) if len(enough) else 1.0


def _row(name: str, result: Count) -> str:
    return (f'{name:34} {result.precision:9.3f} {result.recall:7.3f} {result.found:5}/{result.volatile:<5} '
            f'{result.false_share:7.3f} {result.wrong:5}/{result.stable:<5}')


def _report(options: argparse.Namespace, questions: Sequence[Labelled], vectors: Vector, embedder: Embedder) -> None:
    lexicon = Lexicon.read(options.lexicon)
    said = {'lexicon': verdicts(lexicon, questions, vectors)}
    if options.head:
        said['learned'] = verdicts(LearnedClassifier.read(options.head, embedder.fingerprint), questions, vectors)
    else:
        said['learned'] = unseen_verdicts(questions, vectors, options.precision)
    said['either'] = said['lexicon'] | said['learned']
    print(f'{"":34} precision  recall found/volatile  false wrong/stable')  # noqa: T201  what was asked for
    for key in sorted({each.language for each in questions}):
        rows = [row for row, each in enumerate(questions) if each.language == key]
        asked = [questions[row] for row in rows]
        for name, flags in said.items():
            print(_row(f'{key} {name}', counted(asked, flags[rows])))  # noqa: T201
        for category, result in categories(lexicon, asked).items():
            print(_row(f'{key} lexicon, class {category}', result))  # noqa: T201


def _train(options: argparse.Namespace, questions: Sequence[Labelled], vectors: Vector, embedder: Embedder) -> None:
    learned = train(questions, vectors, options.precision)
    learned.write(options.out, embedder.fingerprint)
    for name, head in sorted(learned.heads.items()):
        print(f'{name}: {head.volatile} volatile, {head.stable} stable questions, '  # noqa: T201  what was done
              f'{len(head.landmarks)} landmarks, threshold {head.threshold:.2f}')


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='volatility', description='Train or measure the volatility classifiers.')
    commands = parser.add_subparsers(required=True)
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument('--data', type=Path, nargs='*', default=[], help='files of labelled questions (JSONL)')
    data.add_argument('--knowledge', type=Path, nargs='*', help='knowledge files; none: the packaged showroom')
    data.add_argument('--precision', type=float, default=PRECISION, help='out of fold, sets the threshold')
    training = commands.add_parser('train', parents=[data], help='write the file of the learned classifier')
    training.add_argument('out', type=Path)
    training.set_defaults(run=_train)
    report = commands.add_parser('report', parents=[data], help='precision and recall by language and class')
    report.add_argument('--head', type=Path, help='a file that train wrote')
    report.add_argument('--lexicon', type=Path, default=packaged.config_dir() / 'lexicon', help='folder of the lists')
    report.set_defaults(run=_report)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    options = _options(arguments)
    knowledge = [packaged.config_dir() / 'knowledge'] if options.knowledge is None else options.knowledge
    run: Callable[[argparse.Namespace, Sequence[Labelled], Vector, Embedder], None] = options.run
    try:
        questions = [each for path in options.data for each in read_labelled(path)]
        questions += knowledge_questions(knowledge) if knowledge else []
        embedder = open_embedder(Embedding())
        run(options, *encode(questions, embedder), embedder)
    except (OSError, ValueError, EmbeddingError, MissingPackage) as error:  # each a sentence that names what is wrong
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
