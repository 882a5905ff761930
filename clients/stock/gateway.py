"""The gateway's envelopes by the package websockets: gateway.py ws://HOST:PORT/mcp"""

import asyncio
import json
import sys
import uuid
from datetime import datetime, timezone

import websockets


async def main(url):
    async with websockets.connect(url) as socket:
        waiting, progress = {}, asyncio.Queue()

        async def read():
            async for text in socket:
                m = json.loads(text)["mcp_payload"]
                if m.get("method") == "notifications/progress":
                    progress.put_nowait(m["params"]["progressToken"])
                else:
                    waiting.pop(m["id"]).set_result(m)

        async def send(payload, namespace):
            await socket.send(json.dumps({
                "id": str(uuid.uuid4()), "timestamp": datetime.now(timezone.utc).isoformat(), "source": "stock", "target_namespace": namespace,
                "mcp_payload": {"jsonrpc": "2.0", **payload},
            }))

        async def ask(method, params, namespace="Worker"):
            number = len(ids)
            ids.append(method)
            waiting[number] = asyncio.get_running_loop().create_future()
            await send({"id": number, "method": method, "params": params}, namespace)
            return number, waiting[number]

        async def call(name, arguments):
            return await (await ask("tools/call", {"name": name, "arguments": arguments}))[1]

        ids = []
        reading = asyncio.create_task(read())
        listed = await (await ask("tools/list", {}, "system"))[1]
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["echo", "fail", "wait", "meet"], listed
        assert (await call("echo", {"text": "é"}))["result"]["structuredContent"] == {"text": "é"}
        assert (await call("fail", {}))["error"]["code"] == -32603
        assert (await call("nothing", {}))["error"]["code"] == -32003
        number, answer = await ask("tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": "w"}})
        assert await progress.get() == "w"
        await send({"method": "notifications/cancelled", "params": {"requestId": number}}, "Worker")
        for met in await asyncio.gather(call("meet", {}), call("meet", {})):
            assert "result" in met, met
        assert not answer.done(), "a cancelled call has no answer"
        reading.cancel()


asyncio.run(main(sys.argv[1]))
