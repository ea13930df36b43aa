"""L0: the semantic cache, what may enter it, and its file."""
from pace_ros.cache.admission import Admission, admit
from pace_ros.cache.entry import CacheEntry, CacheMatch
from pace_ros.cache.persistence import CacheFileError
from pace_ros.cache.saver import CacheSaver
from pace_ros.cache.scope import scope_of
from pace_ros.cache.semantic_cache import CacheRow, SemanticCache
from pace_ros.cache.volatility import Lexicon, LexiconError, Verdict, VolatilityClassifier

__all__ = ['Admission', 'CacheEntry', 'CacheFileError', 'CacheMatch', 'CacheRow', 'CacheSaver', 'Lexicon',
           'LexiconError', 'SemanticCache', 'Verdict', 'VolatilityClassifier', 'admit', 'scope_of']
