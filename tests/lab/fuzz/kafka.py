"""Hostile userdata read by Kafka's classes and by the codec: ``python -m tests.lab.fuzz.kafka [--cases 1000]``.

Prints how often each difference occurs, with one example in hex. Half of the cases are records with extreme values,
half are real bytes with changes; half are subscriptions. Needs Java and Maven.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from random import Random

from streams_assignor.codec import DecodeError, FutureSubscription, decode_assignment, decode_subscription
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from tests.java_oracle import Oracle, as_java_keeps_it
from tests.lab.fuzz import corpus, groups
from tests.subscription_codec import java_view
from tests.subscription_codec.test_vectors import LATEST

DECODE = {"subscription": decode_subscription, "assignment": decode_assignment}
MADE = {
    "subscription": lambda random: decode_consumer_subscription(groups.hostile_subscription(random)).user_data,
    "assignment": lambda random: decode_consumer_assignment(groups.hostile_assignment(random)).user_data,
}
SAME = "the same fields"
REFUSED = "refused by both"
KNOWN = {
    SAME,
    REFUSED,
    "only the codec reads it; Kafka: IllegalArgumentException",
    "only the codec reads it; Kafka: IllegalStateException",
    "both read it, other clientTags",
    "only Kafka reads it; the codec: BadCount",
}
"""The outcomes that docs/reference/hostile-members.md explains."""


def cases(number: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield (kind, userdata)."""
    random = Random(seed)
    real = {kind: sorted(each for mode, each in corpus.small() if mode == place) for place, kind in enumerate(DECODE)}
    for each in range(number):
        kind = ("subscription", "assignment")[each % 2]
        encoded = MADE[kind](random) if each % 4 < 2 else groups.mutated(random, random.choice(real[kind]))
        yield kind, encoded


def outcome(kind: str, encoded: bytes, release: str, answer: dict[str, object]) -> str:
    """Return how Kafka's answer and ours differ."""
    error = str(answer.get("error", "")).rsplit(".", 1)[-1]
    try:
        record = DECODE[kind](encoded, supported_version=LATEST[release])
    except DecodeError as refusal:
        if error:
            return REFUSED
        return f"only Kafka reads it; the codec: {type(refusal).__name__}"
    if error:
        return f"only the codec reads it; Kafka: {error}"
    if isinstance(record, FutureSubscription):
        return SAME
    ours = json.loads(json.dumps(java_view.as_java_shows_it(record)))
    fields = answer["fields"]
    assert isinstance(fields, dict)
    kept, theirs = as_java_keeps_it({name: ours.get(name) for name in fields}), as_java_keeps_it(fields)
    differ = sorted(name for name in kept if name != "uniqueField" and kept[name] != theirs[name])
    return f"both read it, other {', '.join(differ)}" if differ else SAME


def differences(release: str, number: int, seed: int = 0) -> tuple[Counter[tuple[str, str]], dict[str, str]]:
    """Return the number of cases by kind and outcome, and an example of each outcome."""
    asked = list(cases(number, seed))
    found: Counter[tuple[str, str]] = Counter()
    examples: dict[str, str] = {}
    with Oracle(release) as oracle:
        answers = oracle.ask({"op": "decode", "kind": kind, "hex": encoded.hex()} for kind, encoded in asked)
    for (kind, encoded), answer in zip(asked, answers, strict=True):
        what = outcome(kind, encoded, release, answer)
        found[kind, what] += 1
        if len(encoded.hex()) < len(examples.get(what, "0" * 10**6)):
            examples[what] = f"{encoded.hex()}  {answer.get('message', '')}"
    return found, examples


def main() -> None:
    """Print a table for each release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--releases", nargs="*", default=["4.3.1", "2.8.2"])
    options = parser.parse_args()
    for release in options.releases:
        found, examples = differences(release, options.cases)
        print(f"Kafka Streams {release}")
        for (kind, what), count in sorted(found.items(), key=lambda item: -item[1]):
            print(f"{count:6} {kind:12} {what}")
        for what, example in examples.items():
            if what not in (SAME, REFUSED):
                print(f"       {what}\n         {example[:300]}")


if __name__ == "__main__":
    main()
