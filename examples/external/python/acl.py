"""The messages of agents: acl, as JSON objects."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, Optional

Message = Dict[str, Any]

# The acts that end a conversation for its initiator.
LAST = {"INFORM_RESULT", "INFORM", "TASK_REJECT", "FAILURE", "NOT_UNDERSTOOD", "REFUSE"}


class Refused(Exception):
    """A refused or failed request, with a code such as "busy" and a text."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code, self.text = code, text


class Rejected(Refused):
    """A handler raises it to reject a task, for example with the code "incapable"."""


@dataclass
class Result:
    """The result of a task. status is "success", "partial_success" or "failure"."""

    summary: str = ""
    details: Dict[str, Any] = field(default_factory=dict)
    status: str = "success"


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


def conversation_of(m: Message) -> str:
    """Returns the conversation id of a message. A message without one opens a conversation with its own id."""
    return m.get("conversation_id") or m["message_id"]


def result_of(m: Message) -> Result:
    """Returns the result in the last message of a delegation. Raises Refused if it contains none."""
    p = m["payload"]
    if m["performative"] == "INFORM_RESULT":
        return Result(p.get("result_summary", ""), p.get("result_details") or {}, p["task_status"].lower())
    raise refusal_of(m)


def refusal_of(m: Message) -> Refused:
    """Returns the Refused for a message that rejects a request or reports its failure."""
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
    """Returns a time in the format of acl."""
    return t.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_until(reply_by: Optional[str]) -> Optional[float]:
    """Returns the seconds until a time in the format of acl, or None if there is no time."""
    if not reply_by:
        return None
    text = re.sub(r"\.(\d+)", lambda m: "." + m[1][:6].ljust(6, "0"), reply_by.replace("Z", "+00:00"))
    return (datetime.fromisoformat(text) - datetime.now(timezone.utc)).total_seconds()
