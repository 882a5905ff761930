"""The messages of agents: acl, as JSON objects."""

from __future__ import annotations

import json
import math
import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Union

from .errors import Disconnected, Failed, Malformed, Rejected, RibosomeError

Message = Dict[str, Any]

# The acts that end a delegation for its initiator.
LAST = {"INFORM_RESULT", "INFORM", "TASK_REJECT", "FAILURE", "NOT_UNDERSTOOD", "REFUSE"}
STATUSES = {"success", "partial_success", "failure"}


@dataclass
class Result:
    """The result of a task.

    summary is for people. details is for programs, and becomes a JSON object. status is "success",
    "partial_success", or "failure": the work was done, and its answer is no.
    """

    summary: str = ""
    details: Dict[str, Any] = field(default_factory=dict)
    status: str = "success"


@dataclass
class Update:
    """A report of progress. percent is from 0 to 100, or None if the worker doesn't know it."""

    percent: Optional[float] = None
    text: str = ""
    results: Dict[str, Any] = field(default_factory=dict)


# What a task's function may return: a text is a summary, a mapping is the details.
Returned = Union[Result, str, Mapping[str, Any], None]


def result_from(value: Returned) -> Result:
    """Returns the result that a task's function means. Raises TypeError."""
    if isinstance(value, Result):
        if value.status not in STATUSES:
            raise TypeError(f"status: want one of {', '.join(sorted(STATUSES))}, got {value.status!r}")
        return value
    if value is None:
        return Result()
    if isinstance(value, str):
        return Result(value)
    if isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]: not every program is type-checked
        return Result(details=dict(value))
    raise TypeError(f"a task returns a Result, a string, a mapping or None, not {type(value).__name__}")


def message(act: str, sender: str, receiver: str, payload: Message, **more: Any) -> Message:
    """Makes a message. more contains further members of the envelope; those that are None are omitted."""
    return {
        "mcp_version": "0.1.0",
        "message_id": str(uuid.uuid4()),
        "performative": act,
        "sender": {"agent_id": sender},
        "receiver": {"agent_id": receiver},
        **{name: value for name, value in more.items() if value is not None},
        "language": "application/json",
        "timestamp": written(datetime.now(timezone.utc)),
        "payload": payload,
    }


def encode(m: Message) -> bytes:
    """Writes a message as JSON in UTF-8. Raises ValueError or TypeError for what JSON can't express."""
    return json.dumps(m, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def decode(data: bytes) -> Message:
    """Reads a JSON object. Raises Malformed."""
    try:
        m = json.loads(data)
    except (ValueError, RecursionError) as why:
        raise Malformed(f"the node sent no JSON: {why}") from None
    if not isinstance(m, dict):
        raise Malformed("the node sent JSON that is no object")
    return m


def check(m: Message) -> None:
    """Raises Malformed unless the members of the envelope have the right types. A missing payload becomes empty."""
    for name in ("performative", "message_id"):
        if not isinstance(m.get(name), str) or not m[name]:
            raise Malformed(f"{name}: want a non-empty string")
    if not isinstance(m.setdefault("payload", {}), dict):
        raise Malformed("payload: want an object")
    for name in ("conversation_id", "in_reply_to", "reply_with", "reply_by"):
        if not isinstance(m.get(name), (str, type(None))):
            raise Malformed(f"{name}: want a string")


def is_message(m: Message) -> bool:
    """Reports whether check raises nothing."""
    try:
        check(m)
    except Malformed:
        return False
    return True


def sender_of(m: Message) -> str:
    """Returns the agent id of the sender, which is an object or a string. Returns "" if there is none."""
    sender = m.get("sender")
    if isinstance(sender, dict):
        sender = sender.get("agent_id")
    return sender if isinstance(sender, str) else ""


def conversation_of(m: Message) -> str:
    """Returns the conversation id of a message. A message without one opens a conversation with its own id."""
    conversation: str = m.get("conversation_id") or m["message_id"]
    return conversation


def text_in(payload: Message, name: str) -> str:
    """Returns a member that is a string or missing. Raises Malformed."""
    value = payload.get(name)
    if not isinstance(value, (str, type(None))):
        raise Malformed(f"payload.{name}: want a string")
    return value or ""


def object_in(payload: Message, name: str) -> Message:
    """Returns a member that is an object or missing. Raises Malformed."""
    value = payload.get(name)
    if not isinstance(value, (dict, type(None))):
        raise Malformed(f"payload.{name}: want an object")
    return value or {}


def update_of(m: Message) -> Update:
    """Returns the report in a STATUS_UPDATE. Raises Malformed."""
    p = m["payload"]
    percent = p.get("progress_percentage")
    if percent is not None and (isinstance(percent, bool) or not isinstance(percent, (int, float)) or not math.isfinite(percent)):
        raise Malformed("payload.progress_percentage: want a number")
    return Update(percent, text_in(p, "status_description"), object_in(p, "intermediate_results"))


def result_of(m: Message) -> Result:
    """Returns the result in an INFORM_RESULT. Raises Malformed."""
    p = m["payload"]
    status = text_in(p, "task_status").lower()
    if status not in STATUSES:
        raise Malformed(f"payload.task_status: want one of {', '.join(sorted(STATUSES))}, got {p.get('task_status')!r}")
    return Result(text_in(p, "result_summary"), object_in(p, "result_details"), status)


def refusal_of(m: Message) -> RibosomeError:
    """Returns the error for a message that rejects a request or reports its failure."""
    p, act = m["payload"], m["performative"]
    code, text = (next((p[n] for n in names if isinstance(p.get(n), str)), "") for names in (
        ("error_code", "reason_code"), ("error_text", "reason_text")))
    if code == "disconnected":
        return Disconnected(text)
    return (Failed if act == "FAILURE" else Rejected)(code or "unspecified", text)


def progress(percent: Optional[float], text: str, results: Optional[Message]) -> Message:
    """Returns the payload of STATUS_UPDATE."""
    return {
        **({} if percent is None else {"progress_percentage": min(max(percent, 0), 100)}),
        "status_description": text, **({"intermediate_results": results} if results else {}),
    }


def failure(code: str, text: str = "") -> Message:
    """Returns the payload of FAILURE."""
    return {"status": "failure", "error_code": code, "error_text": text}


def rejection(code: str, text: str = "") -> Message:
    """Returns the payload of TASK_REJECT and NOT_UNDERSTOOD."""
    return {"status": "rejected", "reason_code": code, "reason_text": text}


def written(t: datetime) -> str:
    """Returns a time in the format of acl."""
    return t.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_until(reply_by: Optional[str]) -> Optional[float]:
    """Returns the seconds until a time in the format of acl, or None if there is no time. Raises Malformed."""
    if not reply_by:
        return None
    text = re.sub(r"\.(\d+)", lambda m: "." + m[1][:6].ljust(6, "0"), re.sub("[zZ]$", "+00:00", reply_by))
    try:
        by = datetime.fromisoformat(text)
    except ValueError:
        raise Malformed("reply_by: want a time such as 2026-11-21T15:00:11Z") from None
    if by.tzinfo is None:
        raise Malformed("reply_by: want a time with a zone")
    return (by - datetime.now(timezone.utc)).total_seconds()
