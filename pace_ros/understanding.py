"""What questions and answers are read by: names, facts, word lists. Nothing of it changes while turns run."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pace_ros import packaged
from pace_ros.aging import check_classes, read_rules
from pace_ros.cache import (
    LEARNED,
    EitherClassifier,
    Leaning,
    LearnedClassifier,
    Lexicon,
    PatternLists,
    Personal,
    ScopeReader,
    Unknowing,
    VolatilityClassifier,
)
from pace_ros.config import Config
from pace_ros.facts import FactExtractor, Polarity, ProductNames
from pace_ros.places import data_file, or_packaged
from pace_ros.settings import ConfigError


@dataclass(frozen=True)
class Understanding:
    """One of each; ``lexicon`` is the auditable classifier, ``volatility`` the one that decides."""

    facts: FactExtractor
    scopes: ScopeReader
    personal: Personal
    unknowing: Unknowing
    lexicon: Lexicon
    volatility: VolatilityClassifier

    @classmethod
    def read(cls, now: Config, fingerprint: str) -> Understanding:
        """Read the files that the configuration names; ``fingerprint`` is the encoder's, for a learned classifier.

        Raises the files' own errors, and ConfigError for a rule for a class that nothing is in.
        """
        names = ProductNames.read(or_packaged(now.names_file, 'names.yaml'))
        exchange, subject, personal = (_patterns(now, name) for name in ('exchange', 'subject', 'personal'))
        leaning = Leaning(exchange, subject)
        lexicon = Lexicon(_patterns(now, 'volatile'))
        check_classes(read_rules(now.volatility.rules), {*lexicon.categories, LEARNED})
        return cls(
            facts=FactExtractor(names, Polarity.read(packaged.config_dir() / 'antonyms.yaml')),
            scopes=ScopeReader(names, leaning),
            personal=Personal(personal, leaning),
            unknowing=Unknowing(_patterns(now, 'unknowing')),
            lexicon=lexicon,
            volatility=_classifier(now, lexicon, fingerprint),
        )


def _patterns(now: Config, name: str) -> PatternLists:
    """A word list: from the configured folder if that has it, else the package's."""
    own = Path(now.lexicon_dir).expanduser()
    has_it = now.lexicon_dir and any(own.glob(f'{name}.*.txt'))
    return PatternLists.read(own if has_it else packaged.config_dir() / 'lexicon', name)


def _classifier(now: Config, lexicon: Lexicon, fingerprint: str) -> VolatilityClassifier:
    """What says whether an answer ages."""
    settings = now.volatility
    if settings.classifier == 'lexicon':
        return lexicon
    file = data_file(now, settings.head_file, 'volatility.npz')
    if file is None:
        raise ConfigError("Parameter 'volatility.head_file' must not be none for volatility.classifier "
                          f'{settings.classifier}.')
    learned = LearnedClassifier.read(file, fingerprint)
    return learned if settings.classifier == 'learned' else EitherClassifier(lexicon, learned)
