"""An agent for the tests: worker.py ID URL [CA]. testdata/worker.mjs does the same."""

import asyncio
import os
import ssl
import sys

from ribosome_client import Agent, Refused, Result, Task, Withdrawn

agent = Agent(sys.argv[1], topics=["tests"], token=os.environ.get("RIBOSOME_TOKEN"), max_tasks=1000, backoff=(0.02, 0.2))


@agent.task("echo", "Returns its parameters.")
async def echo(task: Task) -> Result:
    task.progress(50, "½")
    return Result("✓", task.parameters)


@agent.task("wait", "Waits until it is withdrawn.")
async def wait(task: Task) -> None:
    task.progress(None, "it waits")
    await asyncio.Event().wait()


@agent.task("brief", "Ends soon.")
async def brief(task: Task) -> str:
    task.progress(0, "it begins")
    await asyncio.sleep(task.parameters["ms"] / 1000)
    return "done"


@agent.task("long", "Returns a long result.")
async def long(task: Task) -> str:
    return "x" * int(task.parameters["bytes"])


@agent.task("relay", "Delegates its parameters to another agent.")
async def relay(task: Task) -> Result:
    p = task.parameters
    return await agent.delegate(p["to"], p["type"], p["parameters"], progress=lambda u: task.progress(u.percent, u.text))


@agent.task("withdraw", "Delegates a task, and withdraws it when it has begun.")
async def withdraw(task: Task) -> Result:
    begun = asyncio.Event()
    d = agent.start(task.parameters["to"], task.parameters["type"], {}, progress=lambda u: begun.set())
    await begun.wait()
    receipt = await d.cancel("enough")
    try:
        await d
    except Withdrawn as why:
        return Result(why.code, {"receipt": receipt, "confirmed": why.confirmed})
    return Result("it has ended")


context = ssl.create_default_context(cafile=sys.argv[3]) if len(sys.argv) > 3 else None
try:
    agent.serve(sys.argv[2], ssl=context)
except Refused as why:
    sys.exit(f"refused: {why}")
