"""Decode and encode per message, against the real encodings of ``tests/vectors``; and the start of the command line.

    python tests/bench/bench_codec.py

Prints the median of several rounds. The numbers are of one machine at one moment; compare only within one run.
"""

import json
import statistics
import subprocess
import sys
import timeit
from pathlib import Path

from subscription_codec import decode_assignment, decode_subscription, encode_assignment, encode_subscription

VECTORS = Path(__file__).parent.parent / "vectors/codec.jsonl"
CODECS = {
    "subscription": (decode_subscription, encode_subscription),
    "assignment": (decode_assignment, encode_assignment),
}
ROUNDS = 7


def median_us(work, items, times=20):
    """Microseconds of one call of ``work`` with one of the ``items``: the median of some rounds."""
    rounds = timeit.repeat(lambda: [work(item) for item in items], number=times, repeat=ROUNDS)
    return statistics.median(rounds) / times / len(items) * 1e6


def messages():
    """The messages of the vectors by (kind, version)."""
    found = {}
    for row in map(json.loads, VECTORS.open()):
        if "fields" in row and row["version"] <= 3:
            found.setdefault((row["kind"], row["version"]), []).append(bytes.fromhex(row["hex"]))
    return dict(sorted(found.items()))


def help_ms():
    """Milliseconds from starting the interpreter to the end of ``streams-assignor --help``."""
    command = [sys.executable, "-c", "from assignor.cli import main; main()", "--help"]
    return median_us(lambda _: subprocess.run(command, capture_output=True, check=True), [None], times=1) / 1000


def main():
    print(f"{'message':<16}{'messages':>9}{'mean bytes':>12}{'decode us':>11}{'encode us':>11}")
    for (kind, version), blobs in messages().items():
        decode, encode = CODECS[kind]
        records = [decode(blob) for blob in blobs]
        size = statistics.mean(map(len, blobs))
        times = f"{median_us(decode, blobs):>11.1f}{median_us(encode, records):>11.1f}"
        print(f"{f'{kind} v{version}':<16}{len(blobs):>9}{size:>12.0f}{times}")
    print(f"streams-assignor --help: {help_ms():.0f} ms")


if __name__ == "__main__":
    main()
