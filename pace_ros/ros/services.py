"""The node's services. Each runs in the core and leaves the executor free meanwhile."""
from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode
from std_srvs.srv import Trigger

from pace_msgs.srv import EndConversation, Invalidate
from pace_ros.assembly import Assembly
from pace_ros.ros.core_thread import CoreThread, in_executor

log = logging.getLogger(__name__)


class Services:
    """`~/stop`, `~/end_conversation`, `~/reload_knowledge`, `~/clear_cache`, `~/save_cache`, `~/invalidate`."""

    def __init__(self, node: LifecycleNode, core: CoreThread, assembly: Assembly) -> None:
        self._node = node
        self._core = core
        self._assembly = assembly
        group = ReentrantCallbackGroup()  # a service under way holds up nothing else
        self._offered = [
            node.create_service(Trigger, '~/stop', self._stop, callback_group=group),
            node.create_service(EndConversation, '~/end_conversation', self._end_conversation, callback_group=group),
            node.create_service(Trigger, '~/reload_knowledge', self._trigger(self._reload), callback_group=group),
            node.create_service(Trigger, '~/clear_cache', self._trigger(self._clear), callback_group=group),
            node.create_service(Trigger, '~/save_cache', self._trigger(self._save), callback_group=group),
            node.create_service(Invalidate, '~/invalidate', self._invalidate, callback_group=group),
        ]

    def destroy(self) -> None:
        """Take the services down."""
        for service in self._offered:
            self._node.destroy_service(service)

    async def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        count = await self._on_loop(self._assembly.dialogue.stop_all, 'stopped by ~/stop')
        response.success, response.message = True, f'{count} turn{"s" * (count != 1)} stopped'
        return response

    async def _end_conversation(
        self, request: EndConversation.Request, response: EndConversation.Response
    ) -> EndConversation.Response:
        response.known = await self._on_loop(self._assembly.dialogue.end_conversation, request.conversation_id)
        return response

    async def _invalidate(self, request: Invalidate.Request, response: Invalidate.Response) -> Invalidate.Response:
        response.removed = await self._beside_loop(
            self._assembly.freshness.invalidate, list(request.entry_ids), list(request.terms)
        )
        return response

    def _reload(self) -> str:
        return str(self._assembly.freshness.reload())

    def _clear(self) -> str:
        return f'{self._assembly.cache.clear()} answers removed'

    def _save(self) -> str:
        return f'{self._assembly.save_cache()} answers saved'

    def _trigger(self, work: Callable[[], str]) -> Callable[..., Any]:
        async def serve(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                response.success, response.message = True, await self._beside_loop(work)
            except (ValueError, OSError, RuntimeError) as error:
                log.error('%s', error)
                response.success, response.message = False, str(error)
            return response

        return serve

    async def _on_loop(self, function: Callable[..., Any], *arguments: object) -> Any:
        async def call() -> Any:
            return function(*arguments)

        return await in_executor(self._node.executor, self._core.submit(call()))

    async def _beside_loop(self, function: Callable[..., Any], *arguments: object) -> Any:
        """For what takes longer than a frame may wait: encoding a knowledge base, writing a file."""
        return await in_executor(
            self._node.executor, self._core.submit(asyncio.to_thread(function, *arguments))
        )
