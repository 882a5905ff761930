"""Messages as JSON in frames over TCP (wire, "TCP/Binary Protocol").

A frame is 4D 43, a type, the length of the payload in four bytes, big-endian, and the payload.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from typing import Optional, Tuple

from acl import Message, Refused

DATA, PING, PONG, ERROR, CLOSE = range(1, 6)  # the types
HEADER = struct.Struct(">2sBI")
MAGIC = b"MC"
MAX_FRAME = 16 << 20  # the largest payload in bytes
PING_AFTER, DEAD_AFTER = 30.0, 60.0  # seconds without a frame from the node
CLOSE_TIME = 2.0  # seconds to wait for the node's CLOSE


class Connection:
    """Sends and receives messages, and keeps the connection alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._flushing = asyncio.Lock()
        self._heard = time.monotonic()
        self._keeper = asyncio.ensure_future(self._keep_alive())

    async def receive(self) -> Optional[Message]:
        """Returns the next message, or None when the node closes the connection in order.

        Raises Refused for an ERROR frame, and ConnectionError when the connection is lost.
        """
        while True:
            kind, payload = await self._read()
            self._heard = time.monotonic()
            if kind == DATA:
                return json.loads(payload)
            if kind == PING:
                self._write(PONG, payload)
            elif kind == ERROR:
                error = json.loads(payload)
                raise Refused(error["code"], error.get("message", ""))
            elif kind == CLOSE:
                return None
            elif kind != PONG:
                raise ConnectionError(f"the node sent a frame of the unknown type {kind}")

    async def _read(self) -> Tuple[int, bytes]:
        try:
            magic, kind, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            if magic != MAGIC:
                raise ConnectionError("what answers does not speak this protocol")
            if length > MAX_FRAME:
                raise ConnectionError(f"the node sent a frame of {length} bytes")
            return kind, await self._reader.readexactly(length)
        except EOFError:
            raise ConnectionError("the node hung up") from None

    def send(self, message: Message) -> None:
        """Queues a message without waiting. Does nothing if the connection is closed."""
        self._write(DATA, json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())

    def _write(self, kind: int, payload: bytes = b"") -> None:
        if not self._writer.is_closing():
            self._writer.write(HEADER.pack(MAGIC, kind, len(payload)) + payload)

    async def flush(self) -> None:
        """Waits until the send buffer is below its high-water mark."""
        async with self._flushing:  # before Python 3.12, only one may drain at a time
            await self._writer.drain()

    async def _keep_alive(self) -> None:
        while True:
            silence = time.monotonic() - self._heard
            if silence >= DEAD_AFTER:
                self._writer.transport.abort()  # receive fails
            elif silence >= PING_AFTER:
                self._write(PING, struct.pack(">Q", int(time.time() * 1000)))
            await asyncio.sleep(PING_AFTER / 3)

    async def close(self) -> None:
        """Sends CLOSE, waits at most CLOSE_TIME for the node's CLOSE, and closes the connection."""
        self._keeper.cancel()
        self._write(CLOSE)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._closed(), CLOSE_TIME)
        self._writer.close()
        with contextlib.suppress(OSError):  # the connection ends in any case
            await self._writer.wait_closed()

    async def _closed(self) -> None:
        while (await self._read())[0] != CLOSE:
            pass
