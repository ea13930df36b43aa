"""The controllers: load index, threshold law, steady-state gate, P(inst), cost ceiling."""
from pace_ros.control.cost import CostLedger
from pace_ros.control.gate import Gate, GateState
from pace_ros.control.memory import TtftKeeper
from pace_ros.control.router import Decision, Router, RouterState
from pace_ros.control.state import ControllerState
from pace_ros.control.triggers import Trigger, Window

__all__ = ['ControllerState', 'CostLedger', 'Decision', 'Gate', 'GateState', 'Router', 'RouterState', 'Trigger',
           'TtftKeeper', 'Window']
