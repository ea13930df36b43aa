"""The real GPTCache library with our encoder and our L2, to stand beside our own cache."""
from pace_ros.study.gptcache.arm import GptCacheArm
from pace_ros.study.gptcache.library import GptCacheUnusable, Library, load
from pace_ros.study.gptcache.store import GptCacheStore, Recall

__all__ = ['GptCacheArm', 'GptCacheStore', 'GptCacheUnusable', 'Library', 'Recall', 'load']
