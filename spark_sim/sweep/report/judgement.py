"""The judgement of a finished sweep: whether it shows what Kafka's documentation promises, and the first examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.search.cell_result import ERROR, SAFE, SAFE_IF, UNKNOWN, UNSAFE

MAX_NAMED: Final = 12
"""So many cells are named in a line."""


@frozen
class Judgement:
    """Whether a sweep shows what Kafka's documentation promises, and one line that says so or why not."""

    good: bool
    text: str
    documented: str = SAFE
    """Their verdict if it is good: ``safe-if`` where the topology decides, ``unknown`` if there is none."""

    @property
    def verdict(self) -> str:
        """The sign and the colour of the line."""
        return self.documented if self.good else UNSAFE

    def as_json(self) -> dict[str, str]:
        """Return plain values for a page."""
        return {"verdict": self.verdict, "text": self.text}


@frozen
class Promise:
    """The promise of documentation, in words."""

    one: str
    all: str


DOCUMENTED: Final = Promise("documented", "documented plans")
KAFKAS_GUIDE: Final = Promise("in Kafka's guide", "plans of Kafka's guide")


def judge(
    results: Sequence[Any], *, shows_nothing: Callable[[Any], bool], why: str, words: Promise = DOCUMENTED
) -> Judgement:
    """Judge a sweep: every documented plan is safe, and every cell shows something.

    Args:
        results: The results of all cells.
        shows_nothing: Whether a result proves nothing, although it is safe.
        why: The missing part then.
        words: How the documented plans are called.
    """
    for verdict in (UNSAFE, ERROR, UNKNOWN):
        if broken := [result.title for result in results if result.is_documented and result.verdict == verdict]:
            return Judgement(False, f"{words.one}, and yet {verdict}: {abbreviated(broken)}")
    if vacuous := [result.title for result in results if shows_nothing(result)]:
        return Judgement(False, f"{why}, so nothing is shown: {abbreviated(vacuous)}")
    documented = sum(result.is_documented for result in results)
    conditional = sum(result.is_documented and result.verdict == SAFE_IF for result in results)
    verdict, promised = (SAFE, f"all {documented} safe") if documented else (UNKNOWN, "none was asked for")
    if conditional:
        safe = f"{documented - conditional} safe, " if documented > conditional else ""
        verdict, promised = SAFE_IF, f"{safe}{conditional} {SAFE_IF}"
    return Judgement(True, f"{words.all}: {promised}; others: {_tally(results)}", verdict)


def _tally(results: Sequence[Any]) -> str:
    """Count the verdicts of the plans that are not in Kafka's guide; ``unsafe`` always, the others if there are any."""
    others = Counter(result.verdict for result in results if not result.is_documented)
    counted = [f"{others[verdict]} {verdict}" for verdict in (SAFE_IF, UNKNOWN, ERROR) if others[verdict]]
    return ", ".join([f"{others[UNSAFE]} of {others.total()} unsafe", *counted])


def abbreviated(titles: Sequence[str]) -> str:
    """Join titles; beyond ``MAX_NAMED`` only their number is given."""
    more = len(titles) - MAX_NAMED
    return "; ".join(titles[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def example_lines(
    results: Iterable[Any], limit: int, describe: Callable[[Any], str], noun: str, file: str
) -> Iterator[str]:
    """Yield lines about the first unsafe cells, each with the command that replays it; documented ones come first.

    Args:
        results: The results of all cells.
        limit: The most cells to show.
        describe: The violation of a result, in one line.
        noun: The name of the cells, in the plural.
        file: The file that holds all examples.
    """
    unsafe = sorted((result for result in results if not result.holds), key=lambda result: not result.is_documented)
    for result in unsafe[:limit]:
        yield describe(result)
        yield replay_line(result.example)
    if len(unsafe) > limit:
        yield f"and {len(unsafe) - limit} more unsafe {noun}, each with an example in {file}"


def replay_line(example: str | None) -> str:
    """Return the command that replays an example."""
    return f'  streams-assignor replay "{example}"'


def format_count(number: int | None) -> str:
    """Write a number of any size; None is without end.

    >>> format_count(12_345), format_count(10**20)
    ('12,345', '1.0 × 10^20')
    """
    if number is None:
        return "endless"
    digits = str(number)
    return f"{number:,}" if len(digits) < MAX_DIGITS else f"{digits[0]}.{digits[1]} × 10^{len(digits) - 1}"


MAX_DIGITS: Final = 13
"""Longer numbers are written with a power of ten."""
