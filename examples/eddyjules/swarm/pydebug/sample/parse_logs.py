"""Summarise a web shop's log: how many messages per level, and what failed."""

LOG = """\
2024-05-01 09:00:02 INFO checkout: order 1001 paid
2024-05-01 09:00:07 WARN stock: item 77 is running low
2024-05-01 09:01:15 ERROR mail: could not reach smtp.example.com
2024-05-01 09:01:16 rotated
2024-05-01 09:02:40 INFO checkout: order 1002 paid
2024-05-01 09:03:11 ERROR stock: item 78 has a negative count
"""


def parse(text):
    """Yield the time, level, component and message of each line."""
    for line in text.splitlines():
        parts = line.split(" ", 4)
        time = parts[1]
        level = parts[2]
        component = parts[3].rstrip(":")
        yield time, level, component, parts[4]


def summarise(text):
    counts = {}
    failures = []
    for time, level, component, message in parse(text):
        counts[level] = counts.get(level, 0) + 1
        if level == "ERROR":
            failures.append(f"{time} {component}: {message}")
    return counts, failures


if __name__ == "__main__":
    counts, failures = summarise(LOG)
    for level, count in sorted(counts.items()):
        print(f"{level:<5} {count}")
    print("failures:")
    for failure in failures:
        print(" ", failure)
