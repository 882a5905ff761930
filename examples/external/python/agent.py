"""Wordsmith, an agent in Python: it counts words, and asks an agent of the node which of them are stop words.

    pip install ./clients/python
    python3 examples/external/python/agent.py tcp://127.0.0.1:8444

If the node requires a token, set the environment variable RIBOSOME_TOKEN.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import ssl
import sys
from collections import Counter
from typing import Any, Dict, List, Set

from ribosome_client import Agent, Refused, Rejected, Result, RibosomeError, Task

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def wordsmith(agent: Agent, lexicon: str) -> None:
    """Registers the function of the agent's task."""

    @agent.task("count_words", "Counts the words of a text, and names the most frequent ones.", SCHEMA)
    async def count_words(task: Task) -> Result:
        text = task.parameters.get("text")
        if not isinstance(text, str):
            raise Rejected("incapable", "text: want a string")
        counts = Counter(WORD.findall(text.lower()))
        task.progress(50, f"{sum(counts.values())} words are counted")
        ignored = await stop_words(list(counts))
        task.progress(90, f"{len(ignored)} of them say little")
        top = [{"word": w, "count": n} for w, n in counts.most_common() if w not in ignored][:3]
        details: Dict[str, Any] = {"words": sum(counts.values()), "distinct": len(counts), "top": top}
        return Result(f"{details['words']} words, above all: " + ", ".join(t["word"] for t in top), details)

    async def stop_words(words: List[str]) -> Set[str]:
        """Delegates the selection of stop words to an agent of the node."""
        try:
            answer = await agent.delegate(lexicon, "stop_words", {"words": words}, description="Which of these say little?")
        except RibosomeError as why:
            logging.warning("%s does not help: %s", lexicon, why)
            return set()
        return set(answer.details["stop_words"])


def main() -> None:
    """Joins the node and runs until it is interrupted."""
    parser = argparse.ArgumentParser(description="An agent that counts words.")
    parser.add_argument("url", nargs="?", default="tcp://127.0.0.1:8444", help="where the node is; tcps:// for TLS")
    parser.add_argument("--id", default="Wordsmith", help="as whom to join")
    parser.add_argument("--lexicon", default="Lexicon", help="the agent that knows the stop words")
    parser.add_argument("--ca", help="a file with the certificates to trust")
    o = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format=f"{o.id}: %(message)s")
    agent = Agent(o.id, topics=["text"], token=os.environ.get("RIBOSOME_TOKEN") or None)
    wordsmith(agent, o.lexicon)
    try:
        agent.serve(o.url, ssl=ssl.create_default_context(cafile=o.ca) if o.ca else None)
    except Refused as why:
        sys.exit(f"{o.id}: the node does not want this agent: {why}")


if __name__ == "__main__":
    main()
