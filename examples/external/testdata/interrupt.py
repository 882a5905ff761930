"""Runs a program, and interrupts it in the middle of asyncio's own code.

The first argument is the program. When its StreamReader has checked that the future of a reader is pending, after
data that ends in "interrupt", and before it sets the result, the process gets SIGINT.
"""

import asyncio
import inspect
import os
import runpy
import signal
import sys

wakeup = asyncio.StreamReader._wakeup_waiter
lines, first = inspect.getsourcelines(wakeup)
sets = first + next(i for i, line in enumerate(lines) if "set_result" in line)


def trace(frame, event, _):
    if frame.f_code is not wakeup.__code__:
        return None
    if event == "line" and frame.f_lineno == sets and frame.f_locals["self"]._buffer.endswith(b"interrupt"):
        os.kill(os.getpid(), signal.SIGINT)
    return trace


sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
sys.settrace(trace)
runpy.run_path(sys.argv[0], run_name="__main__")
