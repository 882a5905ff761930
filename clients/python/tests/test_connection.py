"""The connection: its loss, its end by the node, and what is no message."""

import asyncio
import json
import logging
import unittest

from fake_node import TIMEOUT, FakeNode, running
from ribosome_client import Agent, Disconnected, Refused
from ribosome_client.frames import CLOSE, DATA, ERROR, PING, PONG, parse

logging.getLogger("ribosome_client").setLevel(logging.CRITICAL)


class Connections(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.node = FakeNode()
        self.agent = Agent("Ann", backoff=(0.01, 0.05))
        self.release, self.begun = asyncio.Event(), asyncio.Event()

        @self.agent.task("wait")
        async def wait(task):
            self.begun.set()
            await self.release.wait()

        @self.agent.task("ignore")
        async def ignore(task):
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                await self.release.wait()
            return "too late"

    async def test_ping_and_close(self):
        async with running(self.agent, self.node):
            self.node.write(PING, b"12345678")
            self.assertEqual(await self.node.read(), (PONG, b"12345678"))
            self.node.write(PONG, b"x")
            self.node.write(CLOSE, b"that is all")
            self.assertEqual(await self.node.read(), (CLOSE, b""))
            await self.node.accept()

    async def test_lost_in_mid_task(self):
        async with running(self.agent, self.node):
            d = self.agent.start("Bob", "paint")
            await self.node.receive("TASK_REQUEST")
            task = self.node.task("wait", conversation_id="c1")
            await self.node.receive("TASK_ACCEPT")
            self.node.writer.transport.abort()
            with self.assertRaises(Disconnected):
                await d
            await self.node.accept()
            await self.node.quiet()  # nothing about the task of the lost connection
            self.release.set()
            self.begun.clear()
            self.node.task("wait", conversation_id="c1", message_id=task)  # repeated: it is not begun again
            self.assertEqual((await self.node.receive("FAILURE"))["payload"]["error_code"], "disconnected")
            self.assertFalse(self.begun.is_set())

    async def test_lost_while_a_task_goes_on(self):
        async with running(self.agent, self.node):
            self.node.task("ignore")
            await self.node.receive("TASK_ACCEPT")
            self.node.writer.transport.abort()
            self.release.set()
            await self.node.accept()
            await self.node.quiet()

    async def test_garbage(self):
        garbage = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"MC\x01\xff\xff\xff\xff", b"MC\x09\0\0\0\0", b"MC\x01\0\0\0\x01{", b"MC\x01\0\0\0\x02[]",
                   b"MC\x01\0\0\0\x02\xc3\x28", b"MC\x04\0\0\0\x02{}", b"MC\x04\0\0\0\x01x"]
        deep = b"[" * 100_000
        garbage.append(b"MC\x01" + len(deep).to_bytes(4, "big") + deep)
        async with running(self.agent, self.node):
            for one in garbage:
                with self.subTest(one[:20]):
                    self.node.writer.write(one)
                    self.assertEqual((await self.node.read())[0], CLOSE)
                    await self.node.accept()

    async def test_malformed_messages(self):
        async with running(self.agent, self.node):
            for m in ({}, {"performative": 7}, {"performative": "CANCEL"}, {"message_id": "x", "performative": "FAILURE", "payload": 7}):
                self.node.write(DATA, json.dumps(m).encode())
            await self.node.quiet()  # nobody waits for an answer
            for m, field in (({"message_id": "x"}, "performative"), ({"message_id": "x", "performative": "TASK_REQUEST", "payload": "p"}, "payload"),
                             ({"message_id": "x", "performative": "TASK_REQUEST", "conversation_id": {}}, "conversation_id")):
                self.node.write(DATA, json.dumps(m).encode())
                answer = await self.node.receive("NOT_UNDERSTOOD")
                self.assertEqual((answer["in_reply_to"], answer["receiver"]), ("x", {"agent_id": "system"}))
                self.assertIn(field, answer["payload"]["reason_text"])

    async def test_refused(self):
        for code in ("FORBIDDEN", "UNAUTHORIZED"):
            self.setUp()
            async with running(self.agent, self.node) as runner:
                self.node.error(code, "another connection speaks for the agent")
                with self.assertRaises(Refused) as caught:
                    await runner
                self.assertEqual((caught.exception.code, caught.exception.text), (code.lower(), "another connection speaks for the agent"))

    async def test_told_to_come_back(self):
        async with running(self.agent, self.node):
            for code in ("RATE_LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE", "INTERNAL_ERROR"):
                self.node.error(code, "later")
                await self.node.accept()

    async def test_refused_introduction(self):
        await self.node.start()
        runner = asyncio.ensure_future(self.agent.run(self.node.url))
        await self.node.accept(welcome=False)
        self.node.reply(self.node.hello, "FAILURE", {"error_code": "busy"})
        await self.node.accept(welcome=False)  # it comes back
        self.node.task("wait")  # a task may come before the answer
        await self.node.receive("TASK_ACCEPT")
        self.node.reply(self.node.hello, "NOT_UNDERSTOOD", {"reason_code": "forbidden", "reason_text": "the name is reserved"})
        with self.assertRaisesRegex(Refused, "forbidden: the name is reserved"):
            await runner
        await self.node.stop()

    async def test_task_before_the_answer_to_the_introduction(self):
        @self.agent.task("relay")
        async def relay(task):
            return await self.agent.delegate("Bob", "paint")
        await self.node.start()
        runner = asyncio.ensure_future(self.agent.run(self.node.url))
        await self.node.accept(welcome=False)
        self.node.task("relay")
        await self.node.receive("TASK_ACCEPT")
        self.node.reply(await self.node.receive("TASK_REQUEST"), "INFORM_RESULT", {"task_status": "success", "result_summary": "painted"})
        self.assertEqual((await self.node.receive("INFORM_RESULT"))["payload"]["result_summary"], "painted")
        await self.node.stop()
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)

    async def test_large(self):
        async with running(self.agent, self.node):
            text = "ß" * (6 << 20)
            d = self.agent.start("Bob", "paint", {"text": text})
            request = await self.node.receive("TASK_REQUEST")
            self.node.reply(request, "INFORM_RESULT", {"task_status": "success", "result_details": {"n": "y" * (12 << 20)}})
            self.assertEqual(request["payload"]["task_parameters"]["text"], text)
            self.assertEqual(len((await d).details["n"]), 12 << 20)

    async def test_joined(self):
        await self.node.start()

        async def welcome():
            await self.node.accept()
            m = await self.node.receive("TASK_REQUEST")
            self.node.reply(m, "INFORM_RESULT", {"task_status": "success"})
            self.assertEqual(await self.node.read(), (CLOSE, b""))
        node = asyncio.ensure_future(welcome())
        async with self.agent.joined(self.node.url) as agent:
            self.assertEqual((await agent.delegate("Bob", "paint")).status, "success")
            with self.assertRaises(RuntimeError):
                await agent.run(self.node.url)
        await node
        await self.node.stop()
        with self.assertRaisesRegex(Disconnected, "tcp://127.0.0.1"):
            async with self.agent.joined(self.node.url, wait=0.2):
                self.fail("nobody listens there")

    async def test_interrupted_at_any_moment(self):
        """Cancels run after each number of steps of the event loop. It always ends."""
        for steps in range(40):
            node, agent = FakeNode(), Agent("Ann", backoff=(0.001, 0.002))
            await node.start()
            runner = asyncio.ensure_future(agent.run(node.url))
            server = asyncio.ensure_future(node.accept())
            for _ in range(steps):
                await asyncio.sleep(0)
            runner.cancel()
            done, _ = await asyncio.wait({runner}, timeout=TIMEOUT)
            self.assertEqual(done, {runner}, f"after {steps} steps")
            self.assertTrue(runner.cancelled())
            await node.stop()
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)

    def test_addresses(self):
        self.assertEqual(parse("tcp://127.0.0.1:8444"), ("127.0.0.1", 8444, False))
        self.assertEqual(parse("tcps://[::1]:1/"), ("::1", 1, True))
        for wrong in ("127.0.0.1:8444", "ws://a:1", "tcp://a", "tcp://:7", "tcp://a:1/mcp", "tcp://a:b"):
            with self.assertRaises(ValueError):
                parse(wrong)


if __name__ == "__main__":
    unittest.main()
