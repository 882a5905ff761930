"""Frames over TCP: 4D 43, a type, the length of the payload in four bytes (big-endian), and the payload."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl as tls
import struct
import time
from typing import Any, Callable, Coroutine, Optional, Tuple, TypeVar, Union
from urllib.parse import urlsplit

from .errors import Disconnected, Malformed, Refused
from .messages import Message, decode, encode

DATA, PING, PONG, ERROR, CLOSE = range(1, 6)  # the types
HEADER = struct.Struct(">2sBI")
MAGIC = b"MC"
MAX_FRAME = 16 << 20  # the largest payload in bytes that a node takes by default
PING_AFTER, DEAD_AFTER = 30.0, 60.0  # seconds without a frame from the node
CLOSE_TIME = 2.0  # seconds to wait for the node's CLOSE
CONNECT_TIME = 10.0  # seconds in which a connection must be made
CROWDED = 1 << 20  # bytes that wait to be written, above which progress is left out


def parse(url: str) -> Tuple[str, int, bool]:
    """Returns host, port, and whether to use TLS. Raises ValueError unless url is tcp://host:port or tcps://host:port."""
    parts = urlsplit(url)
    if parts.scheme not in ("tcp", "tcps") or not parts.hostname or not parts.port or parts.path not in ("", "/"):
        raise ValueError(f"{url!r}: want an address such as tcp://127.0.0.1:8444, or tcps:// for TLS")
    return parts.hostname, parts.port, parts.scheme == "tcps"


T = TypeVar("T")


async def within(seconds: float, what: Coroutine[Any, Any, T], undo: Callable[[T], None] = lambda result: None) -> T:
    """Waits for what at most so long, and cancels it after that. Raises asyncio.TimeoutError.

    When the caller is cancelled as what ends, undo gets its result.

    Before Python 3.12, asyncio.wait_for swallows a cancellation of its caller when what ends at the same moment.
    """
    task = asyncio.ensure_future(what)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        if task.done() and not task.cancelled() and not task.exception():
            undo(task.result())
        raise
    finally:
        late = task.cancel()
    if late:
        raise asyncio.TimeoutError
    return task.result()


async def connect(url: str, ssl: Optional[tls.SSLContext]) -> Connection:
    """Opens a connection. Raises Disconnected."""
    host, port, secure = parse(url)
    context: Union[tls.SSLContext, bool, None] = (ssl or True) if secure else None
    try:
        opening = asyncio.open_connection(host, port, ssl=context)
        return Connection(*await within(CONNECT_TIME, opening, lambda streams: streams[1].transport.abort()))
    except asyncio.TimeoutError:
        raise Disconnected(f"{url} does not answer") from None
    except OSError as why:
        raise Disconnected(f"{url}: {why}") from why


class Connection:
    """Sends and receives messages, and keeps the connection alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._heard = time.monotonic()
        self._keeper = asyncio.ensure_future(self._keep_alive())

    async def receive(self) -> Optional[Message]:
        """Returns the next message, or None when the node closes the connection in order.

        Raises Refused for an ERROR frame, Malformed for an invalid frame, and Disconnected when the
        connection is lost.
        """
        while True:
            kind, payload = await self._read()
            self._heard = time.monotonic()
            if kind == DATA:
                return decode(payload)
            if kind == PING:
                self._write(PONG, payload)
            elif kind == ERROR:
                raise _refused(payload)
            elif kind == CLOSE:
                return None
            elif kind != PONG:
                raise Malformed(f"the node sent a frame of the unknown type {kind}")

    async def _read(self) -> Tuple[int, bytes]:
        try:
            magic, kind, length = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            if magic != MAGIC:
                raise Malformed("what answers does not speak this protocol")
            if length > MAX_FRAME:
                raise Malformed(f"the node sent a frame of {length} bytes")
            return kind, await self._reader.readexactly(length)
        except EOFError:
            raise Disconnected("the node hung up") from None
        except OSError as why:
            raise Disconnected(str(why)) from why

    def send(self, m: Message) -> None:
        """Queues a message without waiting. Does nothing if the connection is closed.

        Raises ValueError or TypeError for a message that is too long or that JSON can't express.
        """
        data = encode(m)
        if len(data) > MAX_FRAME:
            raise ValueError(f"the message has {len(data)} bytes, more than {MAX_FRAME}")
        self._write(DATA, data)

    def crowded(self) -> bool:
        """Reports whether the node reads so slowly that progress is left out."""
        return self._writer.transport.get_write_buffer_size() > CROWDED

    def _write(self, kind: int, payload: bytes = b"") -> None:
        if not self._writer.is_closing():
            self._writer.write(HEADER.pack(MAGIC, kind, len(payload)) + payload)

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
        with contextlib.suppress(Disconnected, Malformed, asyncio.TimeoutError):
            await within(CLOSE_TIME, self._closed())
        self._writer.transport.abort() if self._writer.transport.get_write_buffer_size() else self._writer.close()
        with contextlib.suppress(OSError, asyncio.TimeoutError):  # the connection ends in any case
            await within(CLOSE_TIME, self._writer.wait_closed())

    async def _closed(self) -> None:
        while (await self._read())[0] != CLOSE:
            pass


def _refused(payload: bytes) -> Refused:
    """Returns the error in an ERROR frame."""
    try:
        error = json.loads(payload)
    except (ValueError, RecursionError):
        error = None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        raise Malformed("the node sent an ERROR frame without a code")
    text = error.get("message")
    return Refused(error["code"].lower(), text if isinstance(text, str) else "")
