"""The tasks that the agent delegates to others."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Callable, Generator, Optional

from . import messages
from .errors import Disconnected, Malformed, RibosomeError, TimedOut, Withdrawn
from .messages import Message, Result, Update

GRACE = 5.0  # seconds in which a withdrawn task must end

Send = Callable[[Message], None]
Progress = Callable[[Update], None]


class Delegation:
    """A task that another agent performs. Awaiting it returns the result, as delegate does."""

    def __init__(self, request: Message, make: Callable[..., Message], send: Send, progress: Progress, timeout: float) -> None:
        self.id: str = request["message_id"]  # the conversation id
        self.agent: str = request["receiver"]["agent_id"]
        self._make, self._send, self._progress = make, send, progress
        loop = asyncio.get_running_loop()
        self.accepted: asyncio.Future[bool] = loop.create_future()
        self._end: asyncio.Future[Result] = loop.create_future()
        self._end.add_done_callback(_retrieved)
        self._withdrawn = False
        self._timer = loop.call_later(timeout, self._late, timeout)

    def __await__(self) -> Generator[Any, None, Result]:
        return self.result().__await__()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._end.done()

    async def result(self) -> Result:
        """Waits for the end. Raises Rejected, Failed, TimedOut, Withdrawn, Malformed or Disconnected.

        Cancelling this call withdraws the task, and waits at most GRACE seconds for the receipt.
        """
        try:
            return await asyncio.shield(self._end)
        except asyncio.CancelledError:
            await self._withdraw("the caller was cancelled")
            raise

    async def cancel(self, reason: str = "") -> bool:
        """Withdraws the task, and waits at most GRACE seconds for the receipt.

        Returns whether it came: the work has stopped. Returns False if the task had ended before, whose result or
        error is that of the delegation, and if the worker does not answer.
        """
        await self._withdraw(reason)
        why = None if self._end.cancelled() else self._end.exception()
        return isinstance(why, Withdrawn) and why.confirmed

    async def _withdraw(self, reason: str) -> None:
        if not self._end.done() and not self._withdrawn:
            self._cancel(reason)
        await asyncio.wait({self._end}, timeout=GRACE + 1)

    def _cancel(self, reason: str) -> None:
        self._withdrawn = True
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(
            GRACE, self._settle, Withdrawn(False, f"{self.agent} has not confirmed that it stopped"))
        self._say_cancel(reason)

    def _say_cancel(self, reason: str) -> None:
        payload = {"reason": reason} if reason else {}
        with contextlib.suppress(Disconnected):  # then _settle has been called, or will be
            self._send(self._make("CANCEL", self.agent, payload, conversation_id=self.id, in_reply_to=self.id))

    def _late(self, timeout: float) -> None:
        if not self._end.done():
            self._cancel("the deadline has passed")
            self._settle(TimedOut(f"{self.agent} has not answered within {timeout:g} s"))

    def take(self, m: Message) -> bool:
        """Takes a message of the conversation. Returns whether it has ended. Raises Malformed, which ends it."""
        act = m["performative"]
        try:
            if act == "TASK_ACCEPT":
                self._accept()
            elif act == "STATUS_UPDATE":
                self._accept()
                if not self._withdrawn:
                    self._progress(messages.update_of(m))
            elif act == "INFORM_RESULT":
                result = messages.result_of(m)
                if "request_for_user" in result.details and result.status == "partial_success":
                    self._say_cancel("no more input is given")  # else the worker waits for it until its deadline
                self._settle(result)
            elif act == "INFORM":
                self._settle(Withdrawn(True) if self._withdrawn else Malformed(f"INFORM from {self.agent}, which is no answer to a task"))
            elif act in messages.LAST:
                self._settle(messages.refusal_of(m))
        except Malformed as why:
            self._settle(why)
            raise
        return self._end.done()

    def lose(self, why: Disconnected) -> None:
        """Ends it because the connection is lost."""
        self._settle(why)

    def _accept(self) -> None:
        if not self.accepted.done():
            self.accepted.set_result(True)

    def _settle(self, end: "Result | RibosomeError") -> None:
        self._timer.cancel()
        if not self.accepted.done():
            self.accepted.set_result(isinstance(end, Result))
        if self._end.done():
            return
        if isinstance(end, Result):
            self._end.set_result(end)
        else:
            self._end.set_exception(end)


def _retrieved(end: "asyncio.Future[Result]") -> Optional[BaseException]:
    """Marks the error as read: a caller need not wait for the end."""
    return None if end.cancelled() else end.exception()
