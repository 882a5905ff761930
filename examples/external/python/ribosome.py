"""Agents of a Ribosome node in Python (3.9 or later), with the standard library alone.

    agent = Agent("Wordsmith", topics=["text"])

    @agent.on_task("count_words", "Counts the words of a text.")
    async def count_words(task: Task) -> Result:
        await task.progress(50, "half of it")
        answer = await agent.delegate("Lexicon", "stop_words", {"words": ["the", "ribosome"]})
        return Result("2 words", {"words": 2})

    asyncio.run(agent.run("127.0.0.1", 8444))

The agent and the node exchange acl messages. Everything here runs on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import ssl as tls
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Awaitable, Callable, Dict, Iterable, Optional

import acl
from acl import Message, Refused, Rejected, Result
from frames import Connection

NODE = "system"  # the id of the node itself, the receiver of an introduction
GRACE = 5.0  # seconds in which a withdrawn task must end
REMEMBERED = 256  # ended tasks whose answers are kept for duplicate requests
LATER = {"busy", "rate_limited", "agent_stopped", "service_unavailable", "rate_limit_exceeded"}

log = logging.getLogger("ribosome")


@dataclass
class Task:
    """A task that another agent delegates to this one."""

    type: str
    description: str
    parameters: Dict[str, Any]
    asker: str
    progress: Callable[[float, str], Awaitable[None]]  # reports percent and a text to the asker


Handler = Callable[[Task], Awaitable[Result]]
Progress = Callable[[Message], None]  # takes the payload of a STATUS_UPDATE


@dataclass
class _Work:
    """A task in its conversation."""

    request: Message
    handler: Optional[asyncio.Future[Result]] = None  # None if the task was not started
    answer: Optional[Message] = None  # the last message sent, except progress

    def ended(self) -> bool:
        return self.handler is None or self.handler.done()


class Agent:
    """An agent that joins a node and performs tasks. token, if given, returns the token for each message."""

    def __init__(self, agent_id: str, *, topics: Iterable[str] = (), max_tasks: int = 16,
                 token: Optional[Callable[[], str]] = None) -> None:
        self.id, self.topics, self.max_tasks, self.token = agent_id, list(topics), max_tasks, token
        self._actions: Dict[str, Message] = {}
        self._handlers: Dict[str, Handler] = {}
        self._connection: Optional[Connection] = None  # None while it is not joined
        self._failures = 0  # consecutive failed attempts to join
        self._works: Dict[str, _Work] = {}  # by conversation
        self._asked: Dict[str, asyncio.Queue[Optional[Message]]] = {}  # by conversation; None means that the connection is lost

    def on_task(self, name: str, description: str = "", schema: Optional[Message] = None) -> Callable[[Handler], Handler]:
        """Registers the handler of a task. schema is the JSON Schema of its parameters.

        CANCEL and the deadline cancel the handler. The asker gets the answer after the handler has cleaned up.
        """
        def register(handler: Handler) -> Handler:
            self._actions[name] = {"name": name, "description": description, **({"input_schema": schema} if schema else {})}
            self._handlers[name] = handler
            return handler
        return register

    async def run(self, host: str, port: int, *, ssl: Optional[tls.SSLContext] = None,
                  joined: Callable[[], None] = lambda: None) -> None:
        """Runs the agent until it is cancelled, and reconnects. Raises Refused if the node rejects the agent."""
        while True:
            try:
                await self._session(Connection(*await asyncio.open_connection(host, port, ssl=ssl)), joined)
                log.info("the node closed the connection")
            except Refused as why:
                if why.code.lower() not in LATER:
                    raise
                log.warning("the node refused: %s", why)
            except (OSError, ValueError) as why:
                log.warning("disconnected: %s", why)
            self._failures = min(self._failures + 1, 10)
            await asyncio.sleep(random.uniform(0.5, 1) * min(0.05 * 2 ** self._failures, 30))

    async def _session(self, connection: Connection, joined: Callable[[], None]) -> None:
        """Introduces the agent, and serves the connection until its end."""
        hello = self._message("QUERY_CAPABILITIES", NODE, {
            "query_type": "summary", "capabilities": {"topics": self.topics, "actions": list(self._actions.values())}})
        self._connection = connection
        try:
            connection.send(hello)
            while (m := await connection.receive()) is not None:
                if m.get("in_reply_to") != hello["message_id"]:
                    self._take(m)
                elif m["performative"] == "INFORM_CAPABILITIES":
                    self._failures = 0
                    joined()
                else:
                    raise acl.refusal_of(m)
        finally:
            self._connection = None
            await self._abandon()
            await connection.close()

    async def _abandon(self) -> None:
        """Ends all tasks and delegations of a connection that has ended."""
        for answers in self._asked.values():
            answers.put_nowait(None)
        running = [w.handler for w in self._works.values() if w.handler and w.handler.cancel()]
        self._works.clear()
        await asyncio.gather(*running, return_exceptions=True)

    def _take(self, m: Message) -> None:
        conversation = acl.conversation_of(m)
        if m["performative"] == "TASK_REQUEST":
            self._begin(conversation, m)
        elif m["performative"] == "CANCEL":
            self._cancel(conversation, m)
        elif conversation in self._asked:
            self._asked[conversation].put_nowait(m)
        elif m.get("reply_with"):
            self._answer(_Work(m), "NOT_UNDERSTOOD", {"reason_code": "unknown_performative", "reason_text": "only tasks are served"})

    def _begin(self, conversation: str, m: Message) -> None:
        known = self._works.get(conversation)
        if known and (known.handler is None or not known.ended() or known.request["message_id"] == m["message_id"]):
            self._send(known.answer)  # a duplicate request: the answer may be lost
            return
        work = self._remember(conversation, m)
        if (kind := m["payload"]["task_type"]) not in self._handlers:
            self._answer(work, "TASK_REJECT", acl.rejection("incapable"))
        elif sum(not w.ended() for w in self._works.values()) >= self.max_tasks:
            self._answer(work, "TASK_REJECT", acl.rejection("busy"))
        else:
            self._answer(work, "TASK_ACCEPT", {"status": "accepted"})
            work.handler = asyncio.ensure_future(self._perform(kind, work))
            work.handler.add_done_callback(lambda done: self._finish(work, done))

    async def _perform(self, kind: str, work: _Work) -> Result:
        async def progress(percent: float, text: str) -> None:
            self._answer(work, "STATUS_UPDATE", {"progress_percentage": percent, "status_description": text})
            if self._connection:
                await self._connection.flush()
        payload = work.request["payload"]
        task = Task(kind, payload.get("task_description", ""), payload.get("task_parameters") or {},
                    work.request["sender"]["agent_id"], progress)
        return await asyncio.wait_for(self._handlers[kind](task), acl.seconds_until(work.request.get("reply_by")))

    def _finish(self, work: _Work, done: asyncio.Future[Result]) -> None:
        why = None if done.cancelled() else done.exception()
        if done.cancelled():
            self._answer(work, "INFORM", {"status": "done"})  # the receipt: the handler has returned
        elif why is None:
            r = done.result()
            self._answer(work, "INFORM_RESULT", {"task_status": r.status, "result_summary": r.summary, "result_details": r.details})
        elif isinstance(why, Rejected):
            self._answer(work, "TASK_REJECT", acl.rejection(why.code, why.text))
        elif isinstance(why, Refused):
            self._answer(work, "FAILURE", acl.failure(why.code, why.text))
        else:
            late = isinstance(why, asyncio.TimeoutError)
            log.error("the task failed", exc_info=None if late else why)
            self._answer(work, "FAILURE", acl.failure("timeout" if late else "execution_failed"))

    def _cancel(self, conversation: str, m: Message) -> None:
        work = self._works.get(conversation) or self._remember(conversation, m)  # a CANCEL may overtake its request
        if work.handler and not work.ended():
            work.handler.cancel()
        elif work.answer:
            self._send(work.answer)
        else:
            self._answer(work, "INFORM", {"status": "done"})

    def _remember(self, conversation: str, m: Message) -> _Work:
        for ended in [c for c, w in self._works.items() if w.ended()][:-REMEMBERED]:
            del self._works[ended]
        work = self._works[conversation] = _Work(m)
        return work

    async def delegate(self, agent: str, task_type: str, parameters: Message, *, description: str = "",
                       timeout: float = 60.0, progress: Progress = lambda update: None) -> Result:
        """Delegates a task to another agent. Raises Refused, or ConnectionError if the connection is lost.

        Cancelling this call withdraws the task, and waits at most GRACE seconds for its end.
        """
        if not self._connection:
            raise ConnectionError("the node is not connected")
        by = datetime.now(timezone.utc) + timedelta(seconds=timeout)
        request = self._message("TASK_REQUEST", agent, {
            "task_type": task_type, "task_description": description, "task_parameters": parameters}, reply_by=acl.written(by))
        conversation = request["message_id"]
        answers = self._asked[conversation] = asyncio.Queue()
        try:
            self._send(request)
            try:
                end = await asyncio.wait_for(self._last(answers, progress), timeout + GRACE)
            except (asyncio.CancelledError, asyncio.TimeoutError):
                self._send(self._message("CANCEL", agent, {}, conversation_id=conversation, in_reply_to=conversation))
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._last(answers, progress), GRACE)
                raise
        finally:
            del self._asked[conversation]
        return acl.result_of(end)

    async def _last(self, answers: asyncio.Queue[Optional[Message]], progress: Progress) -> Message:
        while True:
            m = await answers.get()
            if m is None:
                raise ConnectionError("the node was lost before the answer")
            if m["performative"] in acl.LAST:
                return m
            if m["performative"] == "STATUS_UPDATE":
                progress(m["payload"])

    def _answer(self, work: _Work, act: str, payload: Message) -> None:
        m = work.request
        answer = self._message(act, m["sender"]["agent_id"], payload, in_reply_to=m["message_id"], conversation_id=acl.conversation_of(m))
        if act != "STATUS_UPDATE":
            work.answer = answer
        self._send(answer)

    def _message(self, act: str, receiver: str, payload: Message, **more: Any) -> Message:
        return acl.message(act, self.id, receiver, payload, auth_token=self.token() if self.token else None, **more)

    def _send(self, m: Message) -> None:
        if self._connection:  # without a connection, the node has already failed the request
            self._connection.send(m)
