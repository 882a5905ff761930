"""The messages of agents: acl, as JSON objects."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, Optional

Message = Dict[str, Any]

# The acts that end a conversation for who began it.
LAST = {"INFORM_RESULT", "INFORM", "TASK_REJECT", "FAILURE", "NOT_UNDERSTOOD", "REFUSE"}


class Refused(Exception):
    """Somebody does not do what was asked: a code such as "busy", and a text."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code, self.text = code, text


class Rejected(Refused):
    """Handlers raise it when they do not take the task on, such as with the code "incapable"."""


@dataclass
class Result:
    """What came of a task; status is "success", "partial_success", or "failure" if the answer is no."""

    summary: str = ""
    details: Dict[str, Any] = field(default_factory=dict)
    status: str = "success"


def message(act: str, sender: str, receiver: str, payload: Message, **more: Any) -> Message:
    """Makes a message. What more names are further members of the envelope, and those that are None are left out."""
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


def conversation_of(m: Message) -> str:
    """Returns the conversation of a message: one that does not say is its first, and names it."""
    return m.get("conversation_id") or m["message_id"]


def result_of(m: Message) -> Result:
    """Reads the last message of a delegation. Raises Refused when there is no result."""
    p = m["payload"]
    if m["performative"] == "INFORM_RESULT":
        return Result(p.get("result_summary", ""), p.get("result_details") or {}, p["task_status"].lower())
    raise refusal_of(m)


def refusal_of(m: Message) -> Refused:
    """Reads what says that something is not done."""
    p = m["payload"]
    code = p.get("reason_code") or p.get("error_code") or m["performative"].lower()
    return Refused(code, p.get("reason_text") or p.get("error_text") or "")


def failure(code: str, text: str = "") -> Message:
    """Returns the payload of FAILURE."""
    return {"status": "failure", "error_code": code, "error_text": text}


def rejection(code: str, text: str = "") -> Message:
    """Returns the payload of TASK_REJECT."""
    return {"status": "rejected", "reason_code": code, "reason_text": text}


def written(t: datetime) -> str:
    """Writes a time as acl does."""
    return t.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_until(reply_by: Optional[str]) -> Optional[float]:
    """Returns how long it is until a time, or None when there is none."""
    if not reply_by:
        return None
    text = re.sub(r"\.(\d+)", lambda m: "." + m[1][:6].ljust(6, "0"), reply_by.replace("Z", "+00:00"))
    return (datetime.fromisoformat(text) - datetime.now(timezone.utc)).total_seconds()
