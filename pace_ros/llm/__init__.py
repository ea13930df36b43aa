"""L2: the language model behind an OpenAI-compatible endpoint."""
from pace_ros.llm.breaker import Breaker
from pace_ros.llm.chat import ChatClient, Completion, Message
from pace_ros.llm.endpoint import Endpoint, endpoint_of
from pace_ros.llm.errors import BreakerOpen, L2Error
from pace_ros.llm.prompt import Exchange, PersonaError, PromptBook

__all__ = ['Breaker', 'BreakerOpen', 'ChatClient', 'Completion', 'Endpoint', 'Exchange', 'L2Error', 'Message',
           'PersonaError', 'PromptBook', 'endpoint_of']
