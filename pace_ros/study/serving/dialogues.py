"""Visitors of a showroom who ask what CarQA asks, in the robot's own prompts."""
from __future__ import annotations

from pace_ros.llm.prompt import PromptBook
from pace_ros.packaged import config_dir
from pace_ros.serving.simulator.script import Script
from pace_ros.serving.simulator.workloads.showroom import showroom
from pace_ros.study.datasets.registry import load


def dialogues(count: int, *, seed: int) -> list[Script]:
    """So many visits. Raises DataSetError, CarQAError, PersonaError."""
    return showroom(load('carqa'), PromptBook.read(config_dir() / 'persona.yaml'), count, seed=seed)
