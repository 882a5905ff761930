"""Wordsmith, an agent in Python: it counts words, and asks an agent of the node which of them are stop words.

    python3 agent.py --port 8444

If the node requires a token, set the environment variable RIBOSOME_TOKEN.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import signal
import ssl
import sys
from collections import Counter
from typing import Any, Dict, List, Set

from ribosome import Agent, Refused, Rejected, Result, Task

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def wordsmith(agent: Agent, lexicon: str) -> None:
    """Registers the handler of the agent's task."""

    @agent.on_task("count_words", "Counts the words of a text, and names the most frequent ones.", SCHEMA)
    async def count_words(task: Task) -> Result:
        text = task.parameters.get("text")
        if not isinstance(text, str):
            raise Rejected("incapable", "text: want a string")
        counts = Counter(WORD.findall(text.lower()))
        await task.progress(50, f"{sum(counts.values())} words are counted")
        ignored = await stop_words(list(counts))
        await task.progress(90, f"{len(ignored)} of them say little")
        top = [{"word": w, "count": n} for w, n in counts.most_common() if w not in ignored][:3]
        details: Dict[str, Any] = {"words": sum(counts.values()), "distinct": len(counts), "top": top}
        return Result(f"{details['words']} words, above all: " + ", ".join(t["word"] for t in top), details)

    async def stop_words(words: List[str]) -> Set[str]:
        """Delegates the selection of stop words to an agent of the node."""
        try:
            answer = await agent.delegate(lexicon, "stop_words", {"words": words}, description="Which of these say little?")
        except Refused as why:
            logging.warning("%s does not help: %s", lexicon, why)
            return set()
        return set(answer.details["stop_words"])


def main() -> None:
    """Joins the node and runs until it is interrupted."""
    parser = argparse.ArgumentParser(description="An agent that counts words.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8444)
    parser.add_argument("--id", default="Wordsmith", help="as whom to join")
    parser.add_argument("--lexicon", default="Lexicon", help="the agent that knows the stop words")
    parser.add_argument("--tls", action="store_true", help="connect by TLS")
    parser.add_argument("--ca", help="a file with the certificates to trust; implies --tls")
    o = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format=f"{o.id}: %(message)s")
    token = os.environ.get("RIBOSOME_TOKEN")
    agent = Agent(o.id, topics=["text"], token=(lambda: token) if token else None)
    wordsmith(agent, o.lexicon)
    context = ssl.create_default_context(cafile=o.ca) if o.tls or o.ca else None

    async def serve() -> None:
        # The loop calls these handlers between two callbacks. An exception from a signal's own handler could
        # interrupt asyncio itself anywhere.
        me = asyncio.current_task()
        for sig in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows
                asyncio.get_running_loop().add_signal_handler(sig, me.cancel)
        await agent.run(o.host, o.port, ssl=context, joined=lambda: logging.info("joined the node"))

    try:
        asyncio.run(serve())
    except (asyncio.CancelledError, KeyboardInterrupt):
        pass
    except Refused as why:
        sys.exit(f"{o.id}: the node does not want this agent: {why}")


if __name__ == "__main__":
    main()
