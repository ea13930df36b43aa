"""L2: the language model behind an OpenAI-compatible endpoint."""
from pace_ros.llm.breaker import Breaker
from pace_ros.llm.chat import ChatClient, ChatModel
from pace_ros.llm.completion import Completion, Message, estimated_tokens
from pace_ros.llm.endpoint import Endpoint, endpoint_of, hedge_endpoint_of
from pace_ros.llm.errors import BreakerOpen, L2Error
from pace_ros.llm.hedge import HedgedChat
from pace_ros.llm.history import Exchange
from pace_ros.llm.in_flight import InFlight
from pace_ros.llm.probe import SignalProbe
from pace_ros.llm.prompt import PersonaError, PromptBook
from pace_ros.llm.stickiness import new_visit

__all__ = ['Breaker', 'BreakerOpen', 'ChatClient', 'ChatModel', 'Completion', 'Endpoint', 'Exchange', 'HedgedChat',
           'InFlight', 'L2Error', 'Message', 'PersonaError', 'PromptBook', 'SignalProbe', 'endpoint_of',
           'estimated_tokens', 'hedge_endpoint_of', 'new_visit']
