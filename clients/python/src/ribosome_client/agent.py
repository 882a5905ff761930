"""An agent that joins a node."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import ssl as tls
import time
from datetime import datetime, timedelta, timezone
from typing import Any, AsyncGenerator, Callable, Dict, Iterable, List, Optional, Tuple, TypeVar, Union

from . import messages
from .delegations import Delegation, Progress
from .errors import Disconnected, Malformed, Refused, RibosomeError
from .frames import Connection, connect, parse, within
from .messages import Message, Result
from .works import Handler, Works

NODE = "system"  # the id of the node itself, the receiver of an introduction
GRACE = 5.0  # seconds in which a withdrawn task must end
JOIN_TIME = 10.0  # seconds in which the node must answer the introduction
STEADY = 10.0  # seconds of a connection after which the backoff starts again
FINAL = {"unauthorized", "forbidden"}  # the codes after which the agent does not connect again

log = logging.getLogger("ribosome_client")
H = TypeVar("H", bound=Handler)


class Agent:
    """An agent that performs tasks for others, and delegates tasks to them.

    token is the token of the agent, or a function that returns it for each message. max_tasks is the largest number
    of tasks at a time; further ones are rejected as "busy". grace is the time in seconds in which a withdrawn task
    must end. backoff has the first and the longest delay in seconds before the agent connects again.

    Everything runs on one event loop, except the functions of tasks that are not async: each runs in a thread.
    """

    def __init__(self, agent_id: str, *, topics: Iterable[str] = (), token: Union[str, Callable[[], str], None] = None,
                 max_tasks: int = 16, grace: float = GRACE, backoff: Tuple[float, float] = (0.1, 30.0)) -> None:
        if not agent_id:
            raise ValueError("agent_id: want a name")
        self.id, self.topics, self._token, self._backoff = agent_id, list(topics), token, backoff
        self._works = Works(self._message, max_tasks, grace)
        self._connection: Optional[Connection] = None  # None before the introduction is sent
        self._asked: Dict[str, Delegation] = {}  # by conversation
        self._running = False

    def task(self, name: str, description: str = "", schema: Optional[Message] = None) -> Callable[[H], H]:
        """Registers the function of a task. schema is the JSON Schema of its parameters, which nobody checks for you.

        The function takes a Task, and returns a Result, a summary, a mapping of details or None. It may be async: then
        CANCEL and the deadline cancel it. One that is not async runs in a thread, and has to look at Task.stopping. In
        both cases, the asker gets the receipt when the function has returned. Register tasks before the agent joins.
        """
        def register(handler: H) -> H:
            self._works.register(name, {"name": name, "description": description, **({"input_schema": schema} if schema else {})}, handler)
            return handler
        return register

    def serve(self, url: str, *, ssl: Optional[tls.SSLContext] = None) -> None:
        """Runs the agent until SIGINT or SIGTERM. See run."""
        async def until_interrupted() -> None:
            # The loop calls these handlers between two callbacks. An exception from a signal's own handler could
            # interrupt asyncio itself anywhere.
            me = asyncio.current_task()
            assert me
            for sig in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):  # Windows
                    asyncio.get_running_loop().add_signal_handler(sig, me.cancel)
            await self.run(url, ssl=ssl)
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            asyncio.run(until_interrupted())

    async def run(self, url: str, *, ssl: Optional[tls.SSLContext] = None, joined: Callable[[], None] = lambda: None) -> None:
        """Runs the agent until it is cancelled. url is such as tcp://127.0.0.1:8444, or tcps:// for TLS.

        A lost connection ends all tasks and delegations of it, and the agent connects again. joined is called each time
        when the node knows the agent. Raises Refused if the node does not want the agent, ValueError for a wrong url.
        """
        await self._run(url, ssl, joined, lambda why: log.warning("%s", why if isinstance(why, Refused) else f"not connected: {why.text}"))

    @contextlib.asynccontextmanager
    async def joined(self, url: str, *, ssl: Optional[tls.SSLContext] = None, wait: float = JOIN_TIME) -> AsyncGenerator[Agent, None]:
        """Runs the agent while the block runs, and enters it when the node knows the agent.

        Raises Refused if the node does not want the agent, and Disconnected if there is no node within wait seconds.
        """
        reasons: List[RibosomeError] = []
        ready = asyncio.Event()
        entering = asyncio.ensure_future(ready.wait())
        runner = asyncio.ensure_future(self._run(url, ssl, ready.set, reasons.append))
        try:
            await asyncio.wait({entering, runner}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if runner.done():
                runner.result()
            if not ready.is_set():
                raise Disconnected(reasons[-1].text if reasons else f"{url} has not answered within {wait:g} s")
            yield self
        finally:
            entering.cancel()
            runner.cancel()
            with contextlib.suppress(asyncio.CancelledError, RibosomeError):
                await runner

    async def _run(self, url: str, ssl: Optional[tls.SSLContext], joined: Callable[[], None], lost: Callable[[RibosomeError], None]) -> None:
        parse(url)
        if self._running:
            raise RuntimeError(f"{self.id} runs already")
        self._running, failures = True, 0
        try:
            while True:
                began = time.monotonic()
                try:
                    await self._session(await connect(url, ssl), joined)
                    lost(Disconnected("the node closed the connection"))
                except (Disconnected, Malformed) as why:
                    lost(why)
                except Refused as why:
                    if why.code in FINAL:
                        raise
                    lost(why)
                failures = 0 if time.monotonic() - began >= STEADY else min(failures + 1, 20)
                first, longest = self._backoff
                await asyncio.sleep(random.uniform(0.5, 1) * min(first * 2.0 ** failures, longest))
        finally:
            self._running = False

    async def _session(self, connection: Connection, joined: Callable[[], None]) -> None:
        """Introduces the agent, and serves the connection until its end."""
        why = Disconnected("the connection to the node was lost")
        try:
            await within(JOIN_TIME, self._introduce(connection))
            joined()
            while (m := await connection.receive()) is not None:
                self._take(m, connection)
        except asyncio.TimeoutError:
            raise Disconnected(f"the node has not answered the introduction within {JOIN_TIME:g} s") from None
        finally:
            self._connection = None
            for delegation in self._asked.values():
                delegation.lose(why)
            self._asked.clear()
            running = self._works.lose(connection)
            await connection.close()
            if running:
                await asyncio.wait(running, timeout=GRACE)

    async def _introduce(self, connection: Connection) -> None:
        hello = self._message("QUERY_CAPABILITIES", NODE, {
            "query_type": "summary", "capabilities": {"topics": self.topics, "actions": list(self._works.actions.values())}})
        connection.send(hello)
        self._connection = connection  # before the answer: a task that comes now may delegate
        while (m := await connection.receive()) is not None:
            if messages.is_message(m) and m.get("in_reply_to") == hello["message_id"]:
                if m["performative"] == "INFORM_CAPABILITIES":
                    return
                why = messages.refusal_of(m)
                raise Refused(why.code, why.text)
            self._take(m, connection)  # the node may delegate as soon as it has read the introduction
        raise Disconnected("the node closed the connection")

    def _take(self, m: Message, connection: Connection) -> None:
        """Takes a message. One that is not as it should be is answered, or logged if nobody waits for an answer."""
        try:
            messages.check(m)
            self._dispatch(m, connection)
        except Malformed as why:
            log.warning("a malformed message from %s: %s", messages.sender_of(m) or "the node", why.text)
            if isinstance(m.get("message_id"), str) and m.get("performative") not in ("FAILURE", "NOT_UNDERSTOOD"):
                self._not_understood(m, connection, why.code, why.text)

    def _dispatch(self, m: Message, connection: Connection) -> None:
        act, conversation = m["performative"], messages.conversation_of(m)
        if act == "TASK_REQUEST":
            self._works.begin(m, connection)
        elif act == "CANCEL":
            self._works.cancel(m, connection)
        elif conversation in self._asked:
            delegation = self._asked[conversation]
            try:
                delegation.take(m)
            finally:
                if delegation.done:
                    del self._asked[conversation]
        elif m.get("reply_with"):
            self._not_understood(m, connection, "unknown_performative", f"{self.id} serves tasks only")

    def _not_understood(self, m: Message, connection: Connection, code: str, text: str) -> None:
        conversation = m.get("conversation_id")
        connection.send(self._message("NOT_UNDERSTOOD", messages.sender_of(m) or NODE, messages.rejection(code, text),
                                      in_reply_to=m["message_id"], conversation_id=conversation if isinstance(conversation, str) else m["message_id"]))

    async def delegate(self, agent: str, task_type: str, parameters: Optional[Message] = None, *, description: str = "",
                       timeout: float = 60.0, progress: Progress = lambda update: None, **more: Any) -> Result:
        """Delegates a task to another agent, and returns its result.

        The agent "system" is any agent that performs such tasks. timeout is in seconds. progress is called with each
        Update. more has further members of the message, such as ontology. Raises what Delegation.result raises;
        Disconnected at once if the agent has not joined. Cancelling this call withdraws the task.
        """
        return await self.start(agent, task_type, parameters, description=description, timeout=timeout, progress=progress, **more)

    def start(self, agent: str, task_type: str, parameters: Optional[Message] = None, *, description: str = "",
              timeout: float = 60.0, progress: Progress = lambda update: None, **more: Any) -> Delegation:
        """Delegates a task as delegate does, and does not wait for its end. It must be called on the agent's event loop."""
        by = datetime.now(timezone.utc) + timedelta(seconds=timeout)
        request = self._message("TASK_REQUEST", agent, {
            "task_type": task_type, "task_description": description, "task_parameters": parameters or {}}, reply_by=messages.written(by), **more)
        self._send(request)
        delegation = self._asked[request["message_id"]] = Delegation(request, self._message, self._send, progress, timeout)
        return delegation

    def _send(self, m: Message) -> None:
        if not self._connection:
            raise Disconnected("the node is not connected")
        self._connection.send(m)

    def _message(self, act: str, receiver: str, payload: Message, **more: Any) -> Message:
        token = self._token() if callable(self._token) else self._token
        return messages.message(act, self.id, receiver, payload, auth_token=token, **more)
