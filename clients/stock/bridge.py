"""The bridge protocol by aiohttp: bridge.py ws://HOST:PORT/mcp"""

import asyncio
import sys
import uuid
from datetime import datetime, timezone

import aiohttp


async def main(url):
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        waiting, progress = {}, asyncio.Queue()

        async def read():
            async for frame in socket:
                m = frame.json()
                if m["message_type"] == "notification":
                    progress.put_nowait(m["payload"]["event_type"])
                else:
                    waiting.pop(m["correlation_id"]).set_result(m)

        async def send(kind, payload, receiver="Worker", correlation=None):
            identity = str(uuid.uuid4())
            if correlation is None:
                waiting[identity] = asyncio.get_running_loop().create_future()
            await socket.send_json({
                "message_id": identity, "message_type": kind, "sender_id": "stock", "receiver_id": receiver, "timestamp": datetime.now(timezone.utc).isoformat(),
                "correlation_id": correlation, "priority": "normal", "payload": payload,
            })
            return identity

        async def ask(kind, payload, receiver="Worker"):
            return await waiting[await send(kind, payload, receiver)]

        async def call(name, arguments):
            return await ask("request", {"tool_name": name, "arguments": arguments, "timeout": 60})

        reading = asyncio.create_task(read())
        hello = await ask("handshake_request", {
            "agent_id": "stock", "agent_name": "Stock", "agent_role": "client", "tools": [], "version": "0.1.0", "metadata": {}, "extensions": {"progress": {}},
        }, None)
        assert hello["payload"]["tools"] == ["echo", "fail", "wait", "meet"], hello
        assert (await call("echo", {"text": "é"}))["payload"]["result"] == {"text": "é"}
        assert (await call("fail", {}))["payload"]["error_code"] == "EXECUTION_FAILED"
        assert (await call("nothing", {}))["payload"]["error_code"] == "TOOL_NOT_FOUND"
        identity = await send("request", {"tool_name": "wait", "arguments": {}, "timeout": 60})
        answer = waiting[identity]
        assert await progress.get() == "progress"
        await send("notification", {"event_type": "cancel", "data": {}}, correlation=identity)
        assert (await answer)["message_type"] == "error"
        for met in await asyncio.gather(call("meet", {}), call("meet", {})):
            assert met["message_type"] == "response", met
        reading.cancel()


asyncio.run(main(sys.argv[1]))
