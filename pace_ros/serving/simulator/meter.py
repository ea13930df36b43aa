"""Where a replica's time and energy go."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.serving.simulator.hardware import Power
from pace_ros.serving.simulator.job import Job


@dataclass
class Meter:
    """Seconds and joules by state. What a step draws is charged to the turns it works for, idling to nobody."""

    power: Power
    prefill: float = 0.0
    decode: float = 0.0
    moving: float = 0.0
    read: int = 0
    answered: int = 0

    @property
    def busy(self) -> float:
        """Seconds that were not idle."""
        return self.prefill + self.decode + self.moving

    def reads(self, seconds: float, jobs: list[tuple[Job, int, float]], base: float) -> None:
        """So long, of which ``base`` is shared, and by job its tokens and its own time."""
        self.prefill += seconds
        for job, tokens, own in jobs:
            job.energy += (own + base / len(jobs)) * self.power.prefill
            self.read += tokens

    def answers(self, seconds: float, streams: list[Job], steps: int) -> None:
        """So long, shared by all streams alike."""
        self.decode += seconds
        share = seconds * self.power.decode / len(streams)
        for job in streams:
            job.energy += share
        self.answered += steps * len(streams)

    def moves(self, seconds: float, job: Job) -> None:
        """A hand-over's part."""
        self.moving += seconds
        job.energy += seconds * self.power.decode

    def energy(self, duration: float) -> float:
        """J over so long a time."""
        idle = max(0.0, duration - self.busy)
        return (self.prefill * self.power.prefill + (self.decode + self.moving) * self.power.decode
                + idle * self.power.idle)
