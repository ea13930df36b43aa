"""L1: the showroom's knowledge base."""
from pace_ros.retrieval.entry import KnowledgeEntry, RetrievalHit
from pace_ros.retrieval.files import read_knowledge
from pace_ros.retrieval.knowledge import KnowledgeBase, KnowledgeChange, KnowledgeStore
from pace_ros.retrieval.parse import KnowledgeError

__all__ = ['KnowledgeBase', 'KnowledgeChange', 'KnowledgeEntry', 'KnowledgeError', 'KnowledgeStore', 'RetrievalHit',
           'read_knowledge']
