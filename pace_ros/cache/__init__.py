"""L0: the semantic cache, what may enter it, what guards it, and its file."""
from pace_ros.cache.admission import Admission, admit
from pace_ros.cache.cache_file import CacheFileError
from pace_ros.cache.change_rate import ChangeRates, Proposal
from pace_ros.cache.entry import CacheEntry, CacheMatch, Source, StoredEntry
from pace_ros.cache.guards import Guards
from pace_ros.cache.patterns import PatternError, PatternLists
from pace_ros.cache.personal import Personal
from pace_ros.cache.saver import CacheSaver
from pace_ros.cache.scope import Leaning, Scope, ScopeReader, scope_of
from pace_ros.cache.semantic_cache import Differs, SemanticCache
from pace_ros.cache.unknowing import Unknowing
from pace_ros.cache.volatility import EitherClassifier, Lexicon, Verdict, VolatilityClassifier
from pace_ros.cache.volatility_head import LEARNED, HeadError, LearnedClassifier

__all__ = ['LEARNED', 'Admission', 'CacheEntry', 'CacheFileError', 'CacheMatch', 'CacheSaver', 'ChangeRates', 'Differs',
           'EitherClassifier', 'Guards', 'HeadError', 'Leaning', 'LearnedClassifier', 'Lexicon', 'PatternError',
           'PatternLists', 'Personal', 'Proposal', 'Scope', 'ScopeReader', 'SemanticCache', 'Source', 'StoredEntry',
           'Unknowing', 'Verdict', 'VolatilityClassifier', 'admit', 'scope_of']
