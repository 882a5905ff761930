"""The errors of this package: each has a code for programs and a text for people."""

from __future__ import annotations


class RibosomeError(Exception):
    """The base of all errors of this package.

    code is one of the node's codes in lower case, such as "busy", "incapable" or "disconnected".
    docs/clients.md of Ribosome lists them. text is for people, and may be empty.
    """

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code, self.text = code, text


class Rejected(RibosomeError):
    """A task that was not performed: the answer was TASK_REJECT, NOT_UNDERSTOOD or REFUSE.

    A task's function raises it to reject the task, for example with the code "incapable".
    """


class Failed(RibosomeError):
    """A task that was begun and could not be done: the answer was FAILURE.

    A task's function raises it to choose the code and the text that the asker gets.
    """


class Withdrawn(RibosomeError):
    """A delegation that was withdrawn. confirmed says whether the worker has sent the receipt: its work has stopped."""

    def __init__(self, confirmed: bool, text: str = "") -> None:
        super().__init__("canceled", text)
        self.confirmed = confirmed


class TimedOut(RibosomeError):
    """A delegation without an answer before its deadline."""

    def __init__(self, text: str) -> None:
        super().__init__("timeout", text)


class Disconnected(RibosomeError, ConnectionError):
    """There is no connection to the node, or it was lost before the answer. Whether the work was done is not known."""

    def __init__(self, text: str) -> None:
        super().__init__("disconnected", text)


class Refused(RibosomeError):
    """The node does not want the agent: its token is wrong, or another connection speaks for it.

    The agent does not connect again after the codes "unauthorized" and "forbidden".
    """


class Malformed(RibosomeError):
    """The peer's message is not what the protocol says. The text names the member."""

    def __init__(self, text: str) -> None:
        super().__init__("invalid_payload_structure", text)
