"""The data card: sizes, kinds, figures by the default encoder, samples."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from pace_ros import packaged
from pace_ros.embedding import Embedder
from pace_ros.facts import FactExtractor
from pace_ros.study.carqa import files
from pace_ros.study.carqa.catalogue import items
from pace_ros.study.carqa.dedup import NEAR
from pace_ros.study.carqa.generation import VERSION
from pace_ros.study.carqa.measures import measure
from pace_ros.study.carqa.templates import LANGUAGES, read_templates
from pace_ros.study.carqa.wordings import KINDS
from pace_ros.study.datasets.question import DataSet

_SAMPLES = 20
_FILES = {
    files.SEEDS: 'the questions with their answers', files.VARIANTS: 'one further wording of each',
    files.PARAPHRASES: 'paraphrases', files.VOLATILE: 'meanings of CarQA-Volatile', files.CHANGES: 'events in order',
    files.KNOWLEDGE: 'what the robot knows: entries, leaflets, brochures',
}
_HOW = {
    'lexical': 'another direct question or another word', 'syntactic': 'another sentence structure, often a subclause',
    'spoken': 'openings, hesitation, tags, pointing', 'elliptic': 'no verb',
    'asr': 'homophones, dropped small words, no punctuation, no capitals',
}


def card(folder: Path, templates: Path, data: DataSet, seed: int, near: Sequence[str], embedder: Embedder) -> str:
    """The data card in Markdown for the files written to a folder."""
    facts = FactExtractor.read(folder / files.NAMES, packaged.config_dir() / 'antonyms.yaml')
    families = read_templates(templates)
    counts = Counter((each.kind, each.locale[:2]) for each in data.paraphrases)
    zh = data.in_language('zh')
    facts_of: Mapping[str, object] = {
        'version': VERSION, 'seed': seed, 'limit': NEAR, 'families': len(families),
        'files': [(name, what, _lines(folder / name)) for name, what in _FILES.items()],
        'meanings': len(zh.seeds), 'pairs': 2 * len(zh.seeds), 'paraphrases': len(zh.paraphrases) - len(zh.seeds),
        'volatile': _lines(folder / files.VOLATILE), 'changes': len(data.changes),
        'aging': sum(each.volatile for each in zh.seeds), 'entered': sum(bool(k.questions) for k in data.knowledge),
        'dropped': len(near), 'candidates': sum(1 for _ in items(families, seed)),
        'aspects': len({each.meaning.split('.')[0] + each.meaning.split('.')[2] for each in zh.seeds}),
        'kinds': [(kind, _HOW[kind], counts[kind, 'zh'], counts[kind, 'en']) for kind in KINDS],
        'measures': [measure(data, language, embedder, facts) for language in LANGUAGES],
        'samples': samples(data, _SAMPLES, seed),
    }
    source = (templates.parent / 'card.md.j2').read_text(encoding='utf-8')
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)  # noqa: S701  Markdown
    text = environment.from_string(source).render(facts_of)
    return text.rstrip() + '\n'


def samples(data: DataSet, count: int, seed: int) -> str:
    """Some meanings, evenly over the catalogue, with their answers and all wordings in both languages, as Markdown."""
    meanings = list(dict.fromkeys(each.meaning for each in data.seeds))
    count = min(count, len(meanings))
    chosen = [meanings[(seed + place * len(meanings) // count) % len(meanings)] for place in range(count)]
    return '\n'.join(_sample(meaning, data) for meaning in chosen)


def _sample(meaning: str, data: DataSet) -> str:
    lines = [f'**{meaning}**', '']
    for (key, _), wordings in data.wordings.items():
        if key == meaning:
            lines += [f'- {each.kind}: {each.text}' for each in wordings]
            lines += [f'- *answer*: {wordings[0].answer}', '']
    return '\n'.join(lines)


def _lines(file: Path) -> int:
    return file.read_text(encoding='utf-8').count('\n')
