"""The tasks that others have delegated to the agent."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Dict, List, Optional, Union

from . import messages
from .errors import Malformed, Rejected, RibosomeError
from .frames import Connection
from .messages import Message, Returned

REMEMBERED = 256  # ended tasks whose answers are kept for duplicate requests

log = logging.getLogger("ribosome_client")


@dataclass
class Task:
    """A task that another agent delegates to this one."""

    type: str
    description: str
    parameters: Dict[str, Any]
    asker: str
    message: Message = field(repr=False)
    _report: Callable[[Message], None] = field(repr=False, default=lambda payload: None)
    _stopping: threading.Event = field(repr=False, default_factory=threading.Event)

    @property
    def stopping(self) -> bool:
        """Whether the task was withdrawn, or is too late. A function without async has to look at it, and to return."""
        return self._stopping.is_set()

    def progress(self, percent: Optional[float], text: str = "", results: Optional[Dict[str, Any]] = None) -> None:
        """Reports percent from 0 to 100 (None if not known), a text and first results to the asker.

        It may be called from any thread, and does not wait: while the node reads too slowly, reports are left out.
        """
        self._report(messages.progress(percent, text, results))


Handler = Callable[[Task], Union[Awaitable[Returned], Returned]]


@dataclass
class Work:
    """A task in its conversation."""

    request: Message
    connection: Optional[Connection]  # where its asker waits; None once that is lost
    task: Optional[Task] = None  # None if it was not started, as the next one
    running: Optional[asyncio.Future[None]] = None
    answer: Optional[Message] = None  # the last message sent, except progress
    final: bool = False  # answer ends the conversation: nothing follows
    withdrawn: bool = False
    timer: Optional[asyncio.TimerHandle] = None  # the grace after CANCEL

    def busy(self) -> bool:
        return self.running is not None and not self.running.done()

    def stop(self) -> None:
        if self.task and self.running:
            self.task._stopping.set()
            self.running.cancel()


class Works:
    """The tasks of one agent. make makes its messages."""

    def __init__(self, make: Callable[..., Message], max_tasks: int, grace: float) -> None:
        self._make, self._max_tasks, self._grace = make, max_tasks, grace
        self._handlers: Dict[str, Handler] = {}
        self.actions: Dict[str, Message] = {}
        self._works: Dict[str, Work] = {}  # by conversation

    def register(self, name: str, action: Message, handler: Handler) -> None:
        if name in self._handlers:
            raise ValueError(f"the task {name!r} has a function already")
        self.actions[name], self._handlers[name] = action, handler

    def begin(self, m: Message, connection: Connection) -> None:
        """Takes a TASK_REQUEST. A duplicate is answered with the last answer, and never starts a task again."""
        conversation = messages.conversation_of(m)
        known = self._works.get(conversation)
        if known:
            known.connection = connection
            if known.answer:
                connection.send(known.answer)
            return
        work = self._remember(conversation, Work(m, connection))
        try:
            kind = messages.text_in(m["payload"], "task_type")
            task = Task(kind, messages.text_in(m["payload"], "task_description"), messages.object_in(m["payload"], "task_parameters"),
                        messages.sender_of(m), m, self._reporter(work))
            left = messages.seconds_until(m.get("reply_by"))
        except Malformed as why:
            return self._conclude(work, "NOT_UNDERSTOOD", messages.rejection(why.code, why.text))
        handler = self._handlers.get(kind)
        if not handler:
            return self._conclude(work, "TASK_REJECT", messages.rejection("incapable", f"there is no task {kind!r} here"))
        if sum(w.busy() for w in self._works.values()) >= self._max_tasks:
            return self._conclude(work, "TASK_REJECT", messages.rejection("busy", f"{self._max_tasks} tasks are under way"))
        if left is not None and left <= 0:
            return self._conclude(work, "TASK_REJECT", messages.rejection("deadline_expired", "the deadline has passed"))
        self._answer(work, "TASK_ACCEPT", {"status": "accepted"})
        work.task = task
        work.running = asyncio.ensure_future(self._perform(work, handler, task, left))

    async def _perform(self, work: Work, handler: Handler, task: Task, left: Optional[float]) -> None:
        late = asyncio.get_running_loop().call_later(left, self._late, work) if left is not None else None
        try:
            result = messages.result_from(await _called(handler, task))
        except asyncio.CancelledError:
            self._conclude(work, "FAILURE", messages.failure("execution_failed", "the task was stopped"))
        except Rejected as why:
            self._conclude(work, "TASK_REJECT", messages.rejection(why.code, why.text))
        except RibosomeError as why:
            self._conclude(work, "FAILURE", messages.failure(why.code, why.text))
        except Exception:  # the asker gets no details of the fault
            log.exception("the task %s failed", task.type)
            self._conclude(work, "FAILURE", messages.failure("execution_failed", "the task failed"))
        else:
            self._conclude(work, "INFORM_RESULT", {
                "task_status": result.status, "result_summary": result.summary, "result_details": result.details})
        finally:
            for timer in (late, work.timer):
                if timer:
                    timer.cancel()

    def _late(self, work: Work) -> None:
        if not work.withdrawn:
            self._conclude(work, "FAILURE", messages.failure("timeout", "the deadline has passed"))
            work.stop()

    def cancel(self, m: Message, connection: Connection) -> None:
        """Takes a CANCEL. The receipt is sent when the task's function has returned."""
        conversation = messages.conversation_of(m)
        work = self._works.get(conversation)
        if not work:  # it overtakes its request, which then starts nothing
            return self._receipt(self._remember(conversation, Work(m, connection)))
        work.connection = connection
        if work.final and work.answer:
            connection.send(work.answer)
        elif work.busy() and not work.withdrawn:
            work.withdrawn = True
            work.timer = asyncio.get_running_loop().call_later(self._grace, self._still_running, work)
            work.stop()

    def _still_running(self, work: Work) -> None:
        if not work.final:
            self._last(work, "FAILURE", messages.failure("still_running", "the task does not stop"))

    def lose(self, connection: Connection) -> List[asyncio.Future[None]]:
        """Stops the tasks of a lost connection, whose askers have been told. Returns the work that still runs."""
        lost = [w for w in self._works.values() if w.connection is connection]
        for work in lost:
            work.connection = None
            if not work.final:
                self._last(work, "FAILURE", messages.failure("disconnected", "the connection was lost while the task ran"))
                work.stop()
        return [w.running for w in lost if w.running and w.busy()]

    def _reporter(self, work: Work) -> Callable[[Message], None]:
        loop = asyncio.get_running_loop()

        def report(payload: Message) -> None:
            if work.final or work.withdrawn or not work.connection or work.connection.crowded():
                return
            try:
                work.connection.send(self._message(work, "STATUS_UPDATE", payload))
            except (TypeError, ValueError) as why:
                log.error("progress was not reported: %s", why)

        def anywhere(payload: Message) -> None:
            try:
                here = asyncio.get_running_loop() is loop
            except RuntimeError:
                here = False
            if here:
                report(payload)
            else:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(report, payload)
        return anywhere

    def _conclude(self, work: Work, act: str, payload: Message) -> None:
        """Sends the final answer, once. After a CANCEL it is the receipt, whatever the task has returned."""
        if work.final:
            return
        if work.withdrawn:
            return self._receipt(work)
        try:
            self._last(work, act, payload)
        except (TypeError, ValueError) as why:
            log.error("the result can't be sent: %s", why)
            self._last(work, "FAILURE", messages.failure("execution_failed", "the result can't be sent"))

    def _receipt(self, work: Work) -> None:
        self._last(work, "INFORM", {"status": "done"})

    def _last(self, work: Work, act: str, payload: Message) -> None:
        self._answer(work, act, payload)
        work.final = True

    def _answer(self, work: Work, act: str, payload: Message) -> None:
        answer = self._message(work, act, payload)
        if work.connection:
            work.connection.send(answer)
        work.answer = answer

    def _message(self, work: Work, act: str, payload: Message) -> Message:
        m = work.request
        return self._make(act, messages.sender_of(m), payload, in_reply_to=m.get("reply_with") or m["message_id"],
                          conversation_id=messages.conversation_of(m), protocol=m.get("protocol"))

    def _remember(self, conversation: str, work: Work) -> Work:
        for ended in [c for c, w in self._works.items() if w.final and not w.busy()][:-REMEMBERED]:
            del self._works[ended]
        self._works[conversation] = work
        return work


async def _called(handler: Handler, task: Task) -> Returned:
    """Calls a task's function: one without async in a thread of its own."""
    if inspect.iscoroutinefunction(handler):
        returned: Returned = await handler(task)
        return returned
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Returned] = loop.create_future()

    def settle(value: Any, why: Optional[BaseException]) -> None:
        if not ended.done():
            ended.set_exception(why) if why else ended.set_result(value)

    def run() -> None:
        value, why = None, None
        try:
            value = handler(task)
        except StopIteration as error:  # which a future doesn't take
            why = RuntimeError(repr(error))
        except BaseException as error:
            why = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, why)

    threading.Thread(target=run, name=f"task {task.type}", daemon=True).start()
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        task._stopping.set()
        return await ended  # the thread can't be interrupted. A second cancellation, as the program ends, doesn't wait for it
