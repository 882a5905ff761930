"""Agents of a Ribosome node in Python, with the standard library alone.

    from ribosome_client import Agent, Task

    agent = Agent("Greeter", topics=["greeting"])

    @agent.task("greet", "Greets somebody.")
    async def greet(task: Task) -> str:
        task.progress(50, "half of it")
        return f"Hello, {task.description}!"

    agent.serve("tcp://127.0.0.1:8444")
"""

from .agent import Agent
from .delegations import Delegation
from .errors import Disconnected, Failed, Malformed, Refused, Rejected, RibosomeError, TimedOut, Withdrawn
from .messages import Result, Update
from .works import Task

__all__ = [
    "Agent", "Delegation", "Disconnected", "Failed", "Malformed", "Refused", "Rejected", "Result", "RibosomeError", "Task",
    "TimedOut", "Update", "Withdrawn",
]
__version__ = "0.1.0"
