"""Tasks that the node delegates to the agent."""

import asyncio
import logging
import threading
import unittest
from datetime import datetime, timedelta, timezone

from fake_node import TIMEOUT, FakeNode, running
from ribosome_client import Agent, Failed, Rejected, Result
from ribosome_client.messages import written

logging.getLogger("ribosome_client").setLevel(logging.CRITICAL)


def soon(seconds: float) -> str:
    return written(datetime.now(timezone.utc) + timedelta(seconds=seconds))


class Tasks(unittest.IsolatedAsyncioTestCase):
    def setUp(self, grace: float = TIMEOUT) -> None:
        self.node = FakeNode()
        self.started = 0
        self.agent = agent = Agent("Ann", topics=["tests"], token=lambda: "open sesame", max_tasks=2, grace=grace, backoff=(0.01, 0.1))
        self.stopped = threading.Event()
        self.release = threading.Event()

        @agent.task("echo", "Returns its parameters.", {"type": "object"})
        async def echo(task):
            self.started += 1
            task.progress(50, "half ♥", {"so": "far"})
            return Result("done", task.parameters, task.parameters.get("status", "success"))

        @agent.task("wait")
        async def wait(task):
            self.started += 1
            try:
                await asyncio.Event().wait()
            finally:
                assert task.stopping
                self.stopped.set()

        @agent.task("stubborn")
        async def stubborn(task):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.get_running_loop().run_in_executor(None, self.release.wait)
                task.progress(99, "nobody hears this")
                self.stopped.set()
                return "too late"

        @agent.task("block")
        def block(task):
            task.progress(None, "in a thread")
            while not task.stopping:
                self.release.wait(0.001)
            self.stopped.set()
            return "stopped"

        @agent.task("raise")
        async def fail(task):
            raise {"rejected": Rejected("incapable", "not this"), "failed": Failed("no_match", "nothing there"),
                   "bug": KeyError("secret")}[task.parameters["how"]]

        @agent.task("return")
        def give(task):
            return {"text": "a summary", "object": {"n": 1}, "none": None, "number": 7, "set": {"a": {1}},
                    "nan": {"a": float("nan")}, "surrogate": "\ud800", "long": "x" * (17 << 20)}[task.parameters["what"]]

    async def outcome(self, kind, parameters=None, **more):
        task = self.node.task(kind, parameters, **more)
        await self.node.receive("TASK_ACCEPT")
        m = await self.node.receive()
        self.assertEqual((m["in_reply_to"], m["conversation_id"], m["receiver"]), ("r", more.get("conversation_id", task), {"agent_id": "Host"}))
        return m["performative"], m["payload"]

    async def test_introduction(self):
        async with running(self.agent, self.node):
            self.assertEqual((self.node.hello["auth_token"], self.node.hello["sender"]), ("open sesame", {"agent_id": "Ann"}))
            offers = self.node.hello["payload"]["capabilities"]
            self.assertEqual(offers["topics"], ["tests"])
            self.assertEqual(offers["actions"][0], {"name": "echo", "description": "Returns its parameters.", "input_schema": {"type": "object"}})

    async def test_task(self):
        async with running(self.agent, self.node):
            task = self.node.task("echo", {"é": "日本 🧬"}, conversation_id="c1", protocol="task-delegation")
            accept = await self.node.receive("TASK_ACCEPT")
            update = await self.node.receive("STATUS_UPDATE")
            result = await self.node.receive("INFORM_RESULT")
            for m in (accept, update, result):
                self.assertEqual((m["conversation_id"], m["in_reply_to"], m["protocol"]), ("c1", "r", "task-delegation"))
            self.assertEqual(update["payload"], {"progress_percentage": 50, "status_description": "half ♥", "intermediate_results": {"so": "far"}})
            self.assertEqual(result["payload"], {"task_status": "success", "result_summary": "done", "result_details": {"é": "日本 🧬"}})
            # The same request again gets the same answer, and starts nothing.
            self.node.task("echo", message_id=task, conversation_id="c1")
            self.assertEqual((await self.node.receive("INFORM_RESULT"))["message_id"], result["message_id"])
            self.assertEqual(self.started, 1)

    async def test_returned(self):
        async with running(self.agent, self.node):
            for what, act, part in (("text", "INFORM_RESULT", {"result_summary": "a summary"}), ("object", "INFORM_RESULT", {"result_details": {"n": 1}}),
                                    ("none", "INFORM_RESULT", {"result_summary": ""}), ("number", "FAILURE", {"error_text": "the task failed"}),
                                    *((w, "FAILURE", {"error_text": "the result can't be sent"}) for w in ("set", "nan", "surrogate", "long"))):
                with self.subTest(what):
                    got, payload = await self.outcome("return", {"what": what})
                    self.assertEqual(got, act)
                    self.assertEqual(payload, {**payload, **part})

    async def test_raised(self):
        async with running(self.agent, self.node):
            for how, act, code, text in (("rejected", "TASK_REJECT", "incapable", "not this"), ("failed", "FAILURE", "no_match", "nothing there"),
                                         ("bug", "FAILURE", "execution_failed", "the task failed")):
                with self.subTest(how):
                    got, p = await self.outcome("raise", {"how": how})
                    self.assertEqual((got, p.get("reason_code", p.get("error_code")), p.get("reason_text", p.get("error_text"))), (act, code, text))

    async def test_rejected(self):
        async with running(self.agent, self.node):
            for kind, more, act, code, text in (
                ("coffee", {}, "TASK_REJECT", "incapable", "there is no task 'coffee' here"),
                ("echo", {"reply_by": soon(-1)}, "TASK_REJECT", "deadline_expired", "the deadline has passed"),
                ("echo", {"reply_by": "tomorrow"}, "NOT_UNDERSTOOD", "invalid_payload_structure", "reply_by: want a time such as"),
                ("echo", {"payload": {"task_type": 7}}, "NOT_UNDERSTOOD", "invalid_payload_structure", "payload.task_type: want a string"),
                ("echo", {"payload": {"task_type": "echo", "task_parameters": []}}, "NOT_UNDERSTOOD", "invalid_payload_structure", "payload.task_parameters"),
                ("echo", {"payload": []}, "NOT_UNDERSTOOD", "invalid_payload_structure", "payload: want an object"),
            ):
                with self.subTest(code + text):
                    self.node.task(kind, **more) if "payload" not in more else self.node.send("TASK_REQUEST", more["payload"], reply_with="r")
                    m = await self.node.receive(act)
                    self.assertEqual(m["payload"]["reason_code"], code)
                    self.assertIn(text, m["payload"]["reason_text"])
            self.assertEqual(self.started, 0)

    async def test_busy(self):
        async with running(self.agent, self.node):
            for _ in range(2):
                self.node.task("wait")
                await self.node.receive("TASK_ACCEPT")
            self.node.task("wait")
            self.assertEqual((await self.node.receive("TASK_REJECT"))["payload"]["reason_code"], "busy")

    async def test_cancel(self):
        async with running(self.agent, self.node):
            for kind in ("wait", "block"):
                with self.subTest(kind):
                    self.stopped.clear()
                    task = self.node.task(kind)
                    await self.node.receive("TASK_ACCEPT")
                    if kind == "block":
                        await self.node.receive("STATUS_UPDATE")
                    self.node.send("CANCEL", {}, conversation_id=task, in_reply_to=task)
                    receipt = await self.node.receive("INFORM")
                    self.assertTrue(self.stopped.is_set())
                    self.assertEqual(receipt["payload"], {"status": "done"})
                    self.node.send("CANCEL", {}, conversation_id=task, in_reply_to=task)
                    self.assertEqual((await self.node.receive("INFORM"))["message_id"], receipt["message_id"])
                    await self.node.quiet()

    async def test_cancel_after_the_end(self):
        async with running(self.agent, self.node):
            await self.outcome("return", {"what": "none"}, conversation_id="c2")
            self.node.send("CANCEL", {}, conversation_id="c2")
            await self.node.receive("INFORM_RESULT")  # the result stands

    async def test_cancel_before_the_request(self):
        async with running(self.agent, self.node):
            self.node.send("CANCEL", {}, conversation_id="c3")
            receipt = await self.node.receive("INFORM")
            self.node.task("echo", conversation_id="c3")
            self.assertEqual((await self.node.receive("INFORM"))["message_id"], receipt["message_id"])
            self.assertEqual(self.started, 0)

    async def test_cancel_of_a_task_that_goes_on(self):
        self.setUp(grace=0.05)
        async with running(self.agent, self.node):
            task = self.node.task("stubborn")
            await self.node.receive("TASK_ACCEPT")
            self.node.send("CANCEL", {}, conversation_id=task)
            self.assertEqual((await self.node.receive("FAILURE"))["payload"]["error_code"], "still_running")
            self.release.set()
            while not self.stopped.is_set():
                await asyncio.sleep(0)
            await self.node.quiet()  # one answer, though the function returns later

    async def test_deadline(self):
        async with running(self.agent, self.node):
            act, payload = await self.outcome("wait", reply_by=soon(1))  # it has to be accepted before
            self.assertEqual((act, payload["error_code"]), ("FAILURE", "timeout"))
            await self.node.quiet()
            self.assertTrue(self.stopped.is_set())

    async def test_memory_is_bounded(self):
        async with running(self.agent, self.node):
            for n in range(300):
                self.node.task("coffee", conversation_id=f"k{n}")
                await self.node.receive("TASK_REJECT")
            self.assertLessEqual(len(self.agent._works._works), 258)


if __name__ == "__main__":
    unittest.main()
