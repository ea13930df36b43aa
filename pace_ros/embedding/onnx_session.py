"""Opening ONNX models so that they share two cores politely."""
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import onnxruntime

from pace_ros.embedding.embedder import EmbeddingError


def open_session(model: Path, *, string_ops: bool) -> Any:
    """Load a model on one thread without spinning; ``string_ops`` registers the tokenising operators.

    Raises EmbeddingError if the file is absent or is no model.
    """
    if not model.is_file():
        raise EmbeddingError(f'There is no embedding model at {model}.')
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry('session.intra_op.allow_spinning', '0')
    options.add_session_config_entry('session.inter_op.allow_spinning', '0')
    options.log_severity_level = 3
    if string_ops:
        from onnxruntime_extensions import get_library_path  # noqa: PLC0415  only this kind of model needs it

        options.register_custom_ops_library(get_library_path())
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=['CPUExecutionProvider'])
    except Exception as error:  # onnxruntime raises its own classes, which share no base but Exception
        raise EmbeddingError(f'{model} cannot be loaded: {error}') from error


def file_hash(path: Path) -> str:
    """First 16 hex digits of the file's SHA-256."""
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
