"""Sentence encoders: text to unit vectors, on ONNX Runtime."""
from __future__ import annotations

from pathlib import Path

from pace_ros import packaged
from pace_ros.config_levels import Embedding
from pace_ros.embedding.embedder import DegenerateText, Embedder, EmbeddingError, Vector
from pace_ros.embedding.string_input import StringInputEmbedder
from pace_ros.embedding.token_input import TokenInputEmbedder

__all__ = ['DegenerateText', 'Embedder', 'EmbeddingError', 'StringInputEmbedder', 'TokenInputEmbedder', 'Vector',
           'open_embedder']


def open_embedder(config: Embedding) -> Embedder:
    """Load the configured encoder. Raises EmbeddingError with a sentence that names the file at fault."""
    if config.kind == 'string':
        model = Path(config.model).expanduser() if config.model else packaged.multilingual_encoder()
        return StringInputEmbedder(model, query_prefix=config.query_prefix, passage_prefix=config.passage_prefix)
    if config.model:
        model = Path(config.model).expanduser()
        tokenizer = Path(config.tokenizer).expanduser() if config.tokenizer else model.parent / 'tokenizer.json'
    else:
        model, tokenizer = packaged.minilm_encoder()
    return TokenInputEmbedder(
        model,
        tokenizer,
        pooling='cls' if config.pooling == 'cls' else 'mean',
        query_prefix=config.query_prefix,
        passage_prefix=config.passage_prefix,
    )
