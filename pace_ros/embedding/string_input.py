"""Encoder whose ONNX graph takes strings and tokenises by itself."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from pace_ros.embedding.embedder import EmbeddingError, Vector, check_meaning, unit
from pace_ros.embedding.onnx_session import file_hash, open_session


class StringInputEmbedder:
    """One string in, one sentence vector out (the packaged multilingual encoder). Texts are encoded one at a time:
    a dynamically quantised model scales over its batch, so neighbours would change a vector.
    """

    def __init__(self, model: Path, *, query_prefix: str = '', passage_prefix: str = '') -> None:
        self._session = open_session(model, string_ops=True)
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type != 'tensor(string)':
            raise EmbeddingError(f'{model} does not take one string tensor; use embedding.kind = token.')
        self._input = inputs[0].name
        self._output = self._session.get_outputs()[0].name
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self.dimension = len(self._encode('?'))
        self.fingerprint = f'string-{file_hash(model)}-{self.dimension}-{query_prefix}'

    def embed(self, text: str) -> Vector:
        """Encode a question, shape (d,)."""
        check_meaning(text)
        return self._encode(self._query_prefix + text)

    def embed_passage(self, text: str) -> Vector:
        """Encode a passage, shape (d,)."""
        return self._encode(self._passage_prefix + text)

    def _encode(self, text: str) -> Vector:
        (output,) = self._session.run([self._output], {self._input: np.array([text], dtype=object)})
        return unit(np.asarray(output).reshape(-1))
