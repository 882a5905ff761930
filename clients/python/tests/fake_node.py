"""The node's side of a connection, for tests: it reads and writes what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from typing import Any, AsyncGenerator, Dict, Optional

from ribosome_client import Agent, frames
from ribosome_client.frames import CLOSE, DATA, ERROR

TIMEOUT = 20.0  # only a failing test waits so long
frames.CLOSE_TIME = 0.05  # most tests end without a CLOSE of the node


class FakeNode:
    """Accepts connections one after the other."""

    def __init__(self) -> None:
        self._accepted: asyncio.Queue[Any] = asyncio.Queue()
        self.hello: Dict[str, Any] = {}
        self.ids = 0
        self._writers = []

    async def start(self) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.append(writer)
            await self._accepted.put((reader, writer))
        self.server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=1 << 24)
        self.url = "tcp://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def accept(self, welcome: bool = True) -> None:
        """Takes the next connection and its introduction."""
        self.reader, self.writer = await asyncio.wait_for(self._accepted.get(), TIMEOUT)
        self.hello = await self.receive("QUERY_CAPABILITIES")
        if welcome:
            self.reply(self.hello, "INFORM_CAPABILITIES", {"status": "success", "capabilities": {}})

    def write(self, kind: int, payload: bytes = b"") -> None:
        self.writer.write(struct.pack(">2sBI", b"MC", kind, len(payload)) + payload)

    async def read(self) -> Any:
        header = await asyncio.wait_for(self.reader.readexactly(7), TIMEOUT)
        return header[2], await self.reader.readexactly(struct.unpack(">I", header[3:])[0])

    async def receive(self, act: Optional[str] = None) -> Dict[str, Any]:
        kind, payload = await self.read()
        assert kind == DATA, (kind, payload)
        m: Dict[str, Any] = json.loads(payload)
        assert act in (None, m["performative"]), m
        return m

    def send(self, act: str, payload: Any, **more: Any) -> str:
        """Sends a message to the agent. Returns its id."""
        self.ids += 1
        m = {"message_id": f"n{self.ids}", "performative": act, "sender": {"agent_id": "Host"}, "receiver": {"agent_id": "Ann"},
             "timestamp": "2026-11-21T14:00:00Z", "payload": payload, **more}
        self.write(DATA, json.dumps({k: v for k, v in m.items() if v is not None}).encode())
        return str(m["message_id"])

    def task(self, kind: str, parameters: Any = None, **more: Any) -> str:
        return self.send("TASK_REQUEST", {"task_type": kind, "task_parameters": parameters or {}}, reply_with="r", **more)

    def reply(self, m: Dict[str, Any], act: str, payload: Any, **more: Any) -> str:
        return self.send(act, payload, in_reply_to=m["message_id"], conversation_id=m.get("conversation_id") or m["message_id"], **more)

    def error(self, code: str, text: str) -> None:
        self.write(ERROR, json.dumps({"code": code, "message": text}).encode())
        self.write(CLOSE)

    async def quiet(self) -> None:
        """Checks that the agent sends nothing before it answers a request that it does not know."""
        self.send("QUERY_IF", {"condition": {}}, message_id="quiet", reply_with="quiet")
        m = await self.receive("NOT_UNDERSTOOD")
        assert m["in_reply_to"] == "quiet", m


@contextlib.asynccontextmanager
async def running(agent: Agent, node: FakeNode) -> AsyncGenerator["asyncio.Task[None]", None]:
    """Runs the agent at the node, which has welcomed it."""
    await node.start()
    joined = asyncio.Event()
    runner = asyncio.ensure_future(agent.run(node.url, joined=joined.set))
    try:
        await node.accept()
        await asyncio.wait_for(joined.wait(), TIMEOUT)
        yield runner
    finally:
        await node.stop()
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)
