"""Encoder whose ONNX graph takes token ids, with a Hugging Face tokenizer.json beside it (MiniLM, BGE, e5)."""
from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from tokenizers import Tokenizer

from pace_ros.embedding.embedder import DegenerateText, EmbeddingError, Vector, check_meaning, unit
from pace_ros.embedding.onnx_session import file_hash, open_session

WINDOW = 512


class TokenInputEmbedder:
    """Token ids in, token vectors out, pooled here: ``mean`` over the real tokens, or the first one (``cls``)."""

    def __init__(
        self,
        model: Path,
        tokenizer: Path,
        *,
        pooling: Literal['mean', 'cls'] = 'mean',
        query_prefix: str = '',
        passage_prefix: str = '',
    ) -> None:
        if not tokenizer.is_file():
            raise EmbeddingError(f'There is no tokenizer at {tokenizer}.')
        self._session = open_session(model, string_ops=False)
        self._inputs = {each.name for each in self._session.get_inputs()}
        if 'input_ids' not in self._inputs:
            raise EmbeddingError(f'{model} has no input "input_ids"; use embedding.kind = string.')
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # tokenizers raises bare Exception
            raise EmbeddingError(f'{tokenizer} cannot be loaded: {error}') from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(WINDOW)
        self._pooling = pooling
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self.dimension = len(self._encode('?'))
        self.fingerprint = (
            f'token-{file_hash(model)}-{file_hash(tokenizer)}-{self.dimension}-{pooling}-{query_prefix}'
        )

    def embed(self, text: str) -> Vector:
        """Encode a question, shape (d,)."""
        check_meaning(text)
        return self._encode(self._query_prefix + text, whole=True)

    def embed_passage(self, text: str) -> Vector:
        """Encode a passage, shape (d,)."""
        return self._encode(self._passage_prefix + text)

    def _encode(self, text: str, *, whole: bool = False) -> Vector:
        """``whole``: refuse a text of which the window would cut a part, with whatever stands in it."""
        encoding = self._tokenizer.encode(text)
        if whole and encoding.overflowing:
            raise DegenerateText(f'the text is longer than the {WINDOW} tokens the encoder reads')
        ids = np.array([encoding.ids], dtype=np.int64)
        mask = np.array([encoding.attention_mask], dtype=np.int64)
        feed = {'input_ids': ids, 'attention_mask': mask, 'token_type_ids': np.zeros_like(ids)}
        outputs = self._session.run(None, {name: value for name, value in feed.items() if name in self._inputs})
        states = np.asarray(outputs[0], dtype=np.float32)
        if states.ndim == 2:  # the graph pools by itself
            return unit(states[0])
        if self._pooling == 'cls':
            return unit(states[0, 0])
        weights = mask[0, :, None].astype(np.float32)
        return unit((states[0] * weights).sum(axis=0) / weights.sum())
