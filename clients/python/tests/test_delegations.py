"""Tasks that the agent delegates."""

import asyncio
import logging
import unittest
from unittest import mock

from fake_node import FakeNode, running
from ribosome_client import Agent, Disconnected, Failed, Malformed, Rejected, TimedOut, Update, Withdrawn, delegations

logging.getLogger("ribosome_client").setLevel(logging.CRITICAL)
SUCCESS = {"task_status": "success", "result_summary": "fine ✓", "result_details": {"n": 12345678901234567890}}


class Delegations(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.node, self.agent = FakeNode(), Agent("Ann")

    async def begin(self, **more):
        d = self.agent.start("Bob", "paint", {"wall": "été"}, description="please", **more)
        return d, await self.node.receive("TASK_REQUEST")

    async def test_result(self):
        async with running(self.agent, self.node):
            reports = []
            d, request = await self.begin(progress=reports.append, ontology="ex:paint")
            self.assertEqual((request["receiver"], request["ontology"], d.id), ({"agent_id": "Bob"}, "ex:paint", request["message_id"]))
            self.assertEqual(request["payload"], {"task_type": "paint", "task_description": "please", "task_parameters": {"wall": "été"}})
            self.node.reply(request, "TASK_ACCEPT", {"status": "accepted"})
            self.assertTrue(await d.accepted)
            self.node.reply(request, "STATUS_UPDATE", {"progress_percentage": 12.5, "status_description": "on it", "intermediate_results": {"a": 1}})
            self.node.reply(request, "STATUS_UPDATE", {})
            self.node.reply(request, "INFORM_RESULT", SUCCESS)
            self.node.reply(request, "INFORM_RESULT", {"task_status": "failure"})  # a second answer changes nothing
            result = await d
            self.assertEqual((result.summary, result.details, result.status), ("fine ✓", {"n": 12345678901234567890}, "success"))
            self.assertEqual(reports, [Update(12.5, "on it", {"a": 1}), Update()])
            await self.node.quiet()
            self.assertEqual((await d).status, "success")

    async def test_refusals(self):
        async with running(self.agent, self.node):
            for act, payload, kind, code, text in (
                ("TASK_REJECT", {"reason_code": "busy", "reason_text": "later"}, Rejected, "busy", "later"),
                ("NOT_UNDERSTOOD", {"reason_code": "unknown_ontology"}, Rejected, "unknown_ontology", ""),
                ("REFUSE", {}, Rejected, "unspecified", ""),
                ("FAILURE", {"error_code": "timeout", "error_text": "slow"}, Failed, "timeout", "slow"),
                ("FAILURE", {"error_code": 7, "reason_code": "busy"}, Failed, "busy", ""),
                ("FAILURE", {"error_code": "disconnected", "error_text": "gone"}, Disconnected, "disconnected", "gone"),
            ):
                with self.subTest(code):
                    d, request = await self.begin()
                    self.node.reply(request, act, payload)
                    with self.assertRaises(kind) as caught:
                        await d
                    self.assertEqual((caught.exception.code, caught.exception.text), (code, text))
                    self.assertFalse(await d.accepted)

    async def test_malformed_answers(self):
        async with running(self.agent, self.node):
            for act, payload, field in (
                ("INFORM_RESULT", {}, "payload.task_status"), ("INFORM_RESULT", {"task_status": "perfect"}, "payload.task_status"),
                ("INFORM_RESULT", {"task_status": "success", "result_details": [1]}, "payload.result_details"),
                ("INFORM_RESULT", {"task_status": "success", "result_summary": 7}, "payload.result_summary"),
                ("STATUS_UPDATE", {"progress_percentage": "half"}, "payload.progress_percentage"),
                ("STATUS_UPDATE", {"progress_percentage": True}, "payload.progress_percentage"),
                ("INFORM", {}, "INFORM from Bob"),
            ):
                with self.subTest(f"{act} {payload}"):
                    d, request = await self.begin()
                    answer = self.node.reply(request, act, payload)
                    with self.assertRaises(Malformed) as caught:
                        await d
                    self.assertIn(field, caught.exception.text)
                    if act != "INFORM":
                        complaint = await self.node.receive("NOT_UNDERSTOOD")
                        self.assertEqual((complaint["in_reply_to"], complaint["conversation_id"]), (answer, d.id))
                        self.assertIn(field, complaint["payload"]["reason_text"])

    async def test_cancel(self):
        async with running(self.agent, self.node):
            d, request = await self.begin()
            ending = asyncio.ensure_future(d.cancel("changed my mind"))
            m = await self.node.receive("CANCEL")
            self.assertEqual((m["conversation_id"], m["in_reply_to"], m["payload"]), (d.id, d.id, {"reason": "changed my mind"}))
            self.node.reply(request, "STATUS_UPDATE", {})
            self.assertFalse(ending.done())
            self.node.reply(request, "INFORM", {"status": "done"})
            self.assertTrue(await ending)
            with self.assertRaises(Withdrawn) as caught:
                await d
            self.assertTrue(caught.exception.confirmed)
            self.assertTrue(await d.cancel())  # again: it is withdrawn already
            await self.node.quiet()

    async def test_cancel_crosses_with_the_result(self):
        async with running(self.agent, self.node):
            d, request = await self.begin()
            ending = asyncio.ensure_future(d.cancel())
            await self.node.receive("CANCEL")
            self.node.reply(request, "INFORM_RESULT", SUCCESS)
            self.assertFalse(await ending)
            self.assertEqual((await d).summary, "fine ✓")

    async def test_cancel_without_an_answer(self):
        with mock.patch.object(delegations, "GRACE", 0.05):
            async with running(self.agent, self.node):
                d, _ = await self.begin()
                self.assertFalse(await d.cancel())
                with self.assertRaises(Withdrawn) as caught:
                    await d
                self.assertFalse(caught.exception.confirmed)

    async def test_caller_is_cancelled(self):
        async with running(self.agent, self.node):
            caller = asyncio.ensure_future(self.agent.delegate("Bob", "paint"))
            request = await self.node.receive("TASK_REQUEST")
            caller.cancel()
            await self.node.receive("CANCEL")
            self.assertFalse(caller.done())  # it waits for the receipt
            self.node.reply(request, "INFORM", {"status": "done"})
            with self.assertRaises(asyncio.CancelledError):
                await caller

    async def test_deadline(self):
        async with running(self.agent, self.node):
            d, _ = await self.begin(timeout=0.05)
            with self.assertRaises(TimedOut):
                await d
            await self.node.receive("CANCEL")

    async def test_more_input(self):
        async with running(self.agent, self.node):
            d, request = await self.begin()
            self.node.reply(request, "INFORM_RESULT", {"task_status": "partial_success", "result_details": {"request_for_user": "which?"}})
            self.assertEqual((await d).details, {"request_for_user": "which?"})
            await self.node.receive("CANCEL")  # the worker need not wait

    async def test_not_sent(self):
        with self.assertRaises(Disconnected):
            await self.agent.delegate("Bob", "paint")
        async with running(self.agent, self.node):
            for wrong in ({"a": {1}}, {"a": float("inf")}, {"a": "x" * (17 << 20)}):
                with self.assertRaises((TypeError, ValueError)):
                    await self.agent.delegate("Bob", "paint", wrong)
            await self.node.quiet()


if __name__ == "__main__":
    unittest.main()
