"""Fillers: when to launch one, how to make it, what it must not say."""
from pace_ros.filler.conflict import ConflictJudge, ConflictMeter
from pace_ros.filler.fillers import FillerDesk, PendingFiller
from pace_ros.filler.generator import FillerFailed, FillerGenerator, FillerJob, LlamaFillers
from pace_ros.filler.phrases import PhraseBook, PhraseError
from pace_ros.filler.policy import FillerPlan, budget, plan
from pace_ros.filler.safety import rejection

__all__ = ['ConflictJudge', 'ConflictMeter', 'FillerDesk', 'FillerFailed', 'FillerGenerator', 'FillerJob',
           'FillerPlan', 'LlamaFillers', 'PendingFiller', 'PhraseBook', 'PhraseError', 'budget', 'plan', 'rejection']
