"""The one configuration tree. ROS parameters, their ranges and `config/pace.yaml` follow from it.

A leaf marked ``read_only`` takes effect when the node is configured; every other one at the next turn.
All durations are seconds, all similarities cosines.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from pace_ros.aging import POLICIES, read_rules
from pace_ros.config_body import Adapters, BargeIn, Gaze, GestureSettings, Nonverbal, Speech
from pace_ros.config_levels import L0, L1, L2, Embedding, Hedge, check_custom_sticky, extra_body
from pace_ros.settings import ConfigError, setting

LOCALES = ('zh-CN', 'en-US')


@dataclass(frozen=True)
class Asr:
    """What to make of the recogniser's confidence."""

    min_confidence: float = setting(0.35, 'Below this ASR confidence the robot asks the visitor to repeat; '
                                    'an unknown confidence (0) always passes.', low=0.0, high=1.0)


@dataclass(frozen=True)
class Speculation:
    """Work begun before the visitor has finished (off by default: it costs tokens)."""

    enabled: bool = setting(False, 'Prepare an answer for a partial hypothesis that has become stable.')
    stable_for: float = setting(0.4, 'Time for which a hypothesis must not change.', low=0.01, high=5.0)
    max_p_instant: float = setting(0.5, 'The language model is asked ahead only where P(inst) is at most this.',
                                   low=0.0, high=1.0)
    max_load: float = setting(0.25, 'The language model is asked ahead only where the load index is at most this: what '
                              'is asked in vain slows the others.', low=0.0, high=1.0)
    similarity: float = setting(0.97, 'Cosine from which the final words are the same question, if no number, date, '
                                'name or polarity differs.', low=0.0, high=1.0)
    patience: float = setting(5.0, 'Time after which a prepared answer nobody asked for is dropped.', low=0.1,
                              high=60.0)


@dataclass(frozen=True)
class Cost:
    """The ceiling C0 on what is spent beyond necessity: fillers, hedges, speculative turns, probes, the judge."""

    window: int = setting(100, 'Turns over which the mean is taken.', low=1, high=100_000)
    tokens: float = setting(0.0, 'Cloud tokens a turn above which nothing optional is sent; 0: no ceiling.', low=0.0,
                            high=1e6)
    fillers: float = setting(0.0, 'Filler generations a turn above which fillers are placeholders; 0: no ceiling.',
                             low=0.0, high=1.0)


@dataclass(frozen=True)
class Router:
    """Thresholds under load (design section 5): the static operating point, the load index, the intervals."""

    mode: str = setting('gated', 'static: pinned at the operating point; adaptive: they follow load; gated: pinned '
                        'while load is steady.', choices=('static', 'adaptive', 'gated'))
    theta_cache: float = setting(0.95, 'Operating point: similarity from which a cached answer is served.', low=0.0,
                                 high=1.0)
    theta_direct: float = setting(0.75, "Operating point: similarity from which a knowledge entry's answer is "
                                  'returned.', low=0.0, high=1.0)
    cache_low: float = setting(0.90, 'Cache threshold at full load.', low=0.0, high=1.0)
    cache_high: float = setting(0.98, 'Cache threshold without load.', low=0.0, high=1.0)
    direct_low: float = setting(0.70, 'Direct-return threshold at full load.', low=0.0, high=1.0)
    direct_high: float = setting(0.85, 'Direct-return threshold without load.', low=0.0, high=1.0)
    ttft_weight: float = setting(0.7, 'Weight of the first-token time in the load index; the arrival rate has the '
                                 'rest.', low=0.0, high=1.0)
    ttft_alpha: float = setting(0.3, 'Weight of a new sample in the moving average of first-token times.', low=0.001,
                                high=1.0)
    ttft_initial: float = setting(1.5, 'That average before any sample (s).', low=0.0, high=60.0, read_only=True)
    ttft_low: float = setting(1.0, 'First-token time that counts as no load.', low=0.0, high=60.0)
    ttft_high: float = setting(4.0, 'First-token time that counts as full load.', low=0.001, high=120.0)
    rate_low: float = setting(0.0, 'Arrivals a second that count as no load.', low=0.0, high=1000.0)
    rate_high: float = setting(8.0, 'Arrivals a second that count as full load.', low=0.001, high=10_000.0)
    rate_window: float = setting(60.0, 'Time over which arrivals are counted.', low=1.0, high=3600.0, read_only=True)
    file: str = setting('', 'Where the average of first-token times is kept over a restart; empty: '
                        '<data_dir>/router.json. "none" keeps it nowhere.', read_only=True)
    restore_age: float = setting(900.0, 'A restarted node goes on with the average of first-token times if its last '
                                 'sample is younger; 0: never.', low=0.0, high=604_800.0, read_only=True)
    signal_age: float = setting(900.0, 'With visitors but no first token for this long the signal counts as starved.',
                                low=1.0, high=86400.0)
    probe: bool = setting(False, 'Relieve a starved signal by a request of one token while no visitor waits.')
    probe_period: float = setting(600.0, 'Least time between two probes.', low=1.0, high=86400.0)
    probes_per_day: int = setting(48, 'Most probes in 24 hours.', low=0, high=86400)


@dataclass(frozen=True)
class Gate:
    """When load counts as steady (router mode gated)."""

    window: float = setting(60.0, 'Length of a window.', low=0.1, high=3600.0, read_only=True)
    window_requests: int = setting(0, 'Offline replay: a window ends after that many requests instead; 0: by time.',
                                   low=0, high=100_000, read_only=True)
    quiet_windows: int = setting(10, 'Quiet windows in a row that close the gate.', low=1, high=1000)
    ratio: float = setting(1.5, 'A window with more than this times the rate of the one before, or less than its '
                           'inverse, is not quiet.', low=1.0, high=100.0)
    dispersion: float = setting(0.25, 'Nor one where standard deviation over mean of the recent rates is above this.',
                                low=0.0, high=10.0)
    dispersion_windows: int = setting(10, 'How many rates that is taken over.', low=2, high=100, read_only=True)
    load_step: float = setting(0.05, 'Nor one where the load index has moved by more than this.', low=0.0, high=1.0)
    significance: float = setting(0.001, 'A trigger counts only if it is as improbable under steady load; '
                                  '1: always (the literal rule).', low=1e-9, high=1.0)


@dataclass(frozen=True)
class Filler:
    """The short social phrase while the language model thinks."""

    mode: str = setting('adaptive', 'off: none; fixed: launched on every turn; adaptive: launched unless an instant '
                        'answer is likely.', choices=('off', 'fixed', 'adaptive'))
    budget: float = setting(0.9, 'Mode fixed: longest wait for the generator, from the decision for L2; then a '
                            'placeholder.', low=0.0, high=10.0)
    launch_below: float = setting(0.7, 'Mode adaptive: launch where P(inst) is at most this.', low=0.0, high=1.0)
    decisions: int = setting(32, 'Path decisions over which P(inst) is taken.', low=1, high=10_000, read_only=True)
    prior: float = setting(0.3, 'What a decision not yet made counts in P(inst).', low=0.0, high=1.0, read_only=True)
    budget_share: float = setting(0.8, 'Mode adaptive: budget as a share of the expected first-token time.', low=0.0,
                                  high=10.0)
    budget_low: float = setting(0.2, 'Smallest adaptive budget.', low=0.0, high=10.0)
    budget_high: float = setting(1.2, 'Largest adaptive budget.', low=0.0, high=10.0)
    judge: bool = setting(False, 'Have the language model judge, blinded, whether filler and answer contradict each '
                          'other.')
    generator: bool = setting(True, 'Generate fillers with llama.cpp; off: placeholders only.', read_only=True)
    model: str = setting('', 'Path of a GGUF model; empty: the packaged one.', read_only=True)
    style: str = setting('phrases', 'phrases: the grammar composes curated pieces; free: any words the safety filter '
                         'lets through (a larger model).', choices=('phrases', 'free'), read_only=True)
    phrases_file: str = setting('', 'Phrases and placeholders by locale (YAML); empty: the packaged ones.',
                                read_only=True)
    max_tokens: int = setting(20, 'Longest generation.', low=1, high=64, read_only=True)
    max_chars: int = setting(30, 'Longest filler.', low=1, high=200)
    threads: int = setting(1, 'Threads llama.cpp may use.', low=1, high=64, read_only=True)


@dataclass(frozen=True)
class Guards:
    """What keeps a similar question's answer from being given to another question."""

    facts: bool = setting(True, 'A cached question or knowledge entry that differs in a number, date, name, polarity '
                          'or direction is no hit, at any similarity.')
    scope: bool = setting(True, 'The subject of the conversation is part of the key; a question that leans on what was '
                          'said is passed to the language model where no subject is known.')
    personal: bool = setting(True, 'Answers in conversations where visitors spoke of themselves are not cached.')
    unknowing: bool = setting(True, 'Answers that admit not to know are not cached.')


@dataclass(frozen=True)
class Volatility:
    """What happens to answers that age: prices, stock, promotions."""

    policy: str = setting('deny', 'deny: never cached; ttl: cached for ttl; off: cached like any other.',
                          choices=POLICIES)
    ttl: float = setting(3600.0, 'Life of a volatile answer under ttl, from its writing.', low=1.0, high=31_536_000.0)
    rules: tuple[str, ...] = setting((), 'Policies by class, or by language and class: price=deny, zh/stock=ttl:900, '
                                     'stable=ttl:86400.')
    classifier: str = setting('lexicon', 'What says that a question is volatile: lexicon, learned, or either of them.',
                              choices=('lexicon', 'learned', 'either'), read_only=True)
    head_file: str = setting('', 'File of the learned classifier, made by "volatility train"; empty: '
                             '<data_dir>/volatility.npz.', read_only=True)
    target_stale: float = setting(0.05, 'Share of stale answers for which lives are proposed.', low=1e-6, high=1.0)
    on_change: str = setting('deliver', 'An answer under way when its knowledge changes, nothing of it heard yet: '
                             'deliver it, or restart it. It is not cached.', choices=('deliver', 'restart'))


@dataclass(frozen=True)
class Fallback:
    """What is said when the language model cannot be reached."""

    floor: float = setting(0.55, 'Similarity above which the best knowledge entry is said instead.', low=0.0, high=1.0)


@dataclass(frozen=True)
class ConversationSettings:
    """How long a visitor is remembered."""

    idle_timeout: float = setting(120.0, 'Silence after which a conversation is forgotten.', low=1.0, high=86400.0)
    max_open: int = setting(256, 'Conversations remembered at once; the longest idle goes.', low=1, high=100_000)


@dataclass(frozen=True)
class Record:
    """The log of turns."""

    file: str = setting('', 'JSONL file; empty: <data_dir>/turns.jsonl. "none" keeps no log.', read_only=True)
    text: bool = setting(True, 'Keep what was said; off: durations and decisions only.')
    l2: bool = setting(False, 'Publish every request to the language model with its answer on l2_traffic, for bags; '
                       'needs record.text.', read_only=True)


@dataclass(frozen=True)
class Config:
    """The whole tree; a parameter's name is its dotted path."""

    autostart: bool = setting(True, 'Configure and activate without being told.', read_only=True)
    data_dir: str = setting('', 'Where cache and log are kept; empty: $PACE_DATA_DIR, else ~/.local/share/pace_ros.',
                            read_only=True)
    names_file: str = setting('', 'Product names with their spellings (YAML); empty: the packaged ones.',
                              read_only=True)
    lexicon_dir: str = setting('', 'Folder of word lists volatile, subject, exchange, personal and '
                               'unknowing.<language>.txt; the packaged ones for what is not there, and where empty.',
                               read_only=True)
    locale: str = setting('zh-CN', 'Language assumed where none is given or detected.', choices=LOCALES)
    max_utterance_chars: int = setting(500, 'Longer utterances are refused.', low=1, high=100_000)
    allow_overrides: bool = setting(False, 'Obey the switches in Utterance.arm.')
    asr: Asr = field(default_factory=Asr)
    embedding: Embedding = field(default_factory=Embedding)
    l0: L0 = field(default_factory=L0)
    l1: L1 = field(default_factory=L1)
    l2: L2 = field(default_factory=L2)
    hedge: Hedge = field(default_factory=Hedge)
    speculation: Speculation = field(default_factory=Speculation)
    cost: Cost = field(default_factory=Cost)
    router: Router = field(default_factory=Router)
    gate: Gate = field(default_factory=Gate)
    filler: Filler = field(default_factory=Filler)
    guards: Guards = field(default_factory=Guards)
    volatility: Volatility = field(default_factory=Volatility)
    fallback: Fallback = field(default_factory=Fallback)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    barge_in: BargeIn = field(default_factory=BargeIn)
    speech: Speech = field(default_factory=Speech)
    nonverbal: Nonverbal = field(default_factory=Nonverbal)
    gaze: Gaze = field(default_factory=Gaze)
    gesture: GestureSettings = field(default_factory=GestureSettings)
    adapters: Adapters = field(default_factory=Adapters)
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        extra_body(self.l2)
        if 'custom' in (self.l2.sticky, self.hedge.sticky):
            check_custom_sticky(self.l2)
        read_rules(self.volatility.rules)
        if self.l2.first_token_timeout > self.l2.total_timeout:
            raise ConfigError(f"Parameter 'l2.first_token_timeout' ({self.l2.first_token_timeout}) must not exceed "
                              f"'l2.total_timeout' ({self.l2.total_timeout}).")
        router, filler = self.router, self.filler
        _ordered('router.cache_low', router.cache_low, 'router.cache_high', router.cache_high)
        _ordered('router.direct_low', router.direct_low, 'router.direct_high', router.direct_high)
        _ordered('router.ttft_low', router.ttft_low, 'router.ttft_high', router.ttft_high, apart=True)
        _ordered('router.rate_low', router.rate_low, 'router.rate_high', router.rate_high, apart=True)
        _ordered('filler.budget_low', filler.budget_low, 'filler.budget_high', filler.budget_high)


def _ordered(low_name: str, low: float, high_name: str, high: float, *, apart: bool = False) -> None:
    if low > high or (apart and low == high):
        raise ConfigError(f"Parameter '{low_name}' ({low}) must be {'below' if apart else 'at most'} "
                          f"'{high_name}' ({high}).")
