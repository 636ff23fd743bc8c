"""The libraries that refer to what a release lacks: the remedy is another version of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from attrs import field, frozen

from streams_assignor.upgrade.application.libraries import Library
from streams_assignor.upgrade.application.linkage import Problem
from streams_assignor.upgrade.hazards import WrapperLine, wrapper_for
from streams_assignor.upgrade.releases import Release


@frozen
class RaisedLibrary:
    """A library that has to be raised."""

    library: Library
    target: str
    """The release that the application takes."""
    lacks: tuple[str, ...]
    """The classes and members that it refers to and the release does not have, as in Java's documentation."""
    known: WrapperLine | None = field(default=None)
    """The newest line of it that was made for the release or one before it; None if no table has the library."""

    @property
    def text(self) -> str:
        """The remedy.

        >>> RaisedLibrary(Library("spring-kafka", "2.8"), "4.3.1", lacks=()).text
        'use another version of library spring-kafka 2.8, one that is made for Kafka 4.3.1'
        """
        if self.known:
            return f"raise {self.library} to {self.known.release} or newer, which is made for Kafka {self.known.kafka}"
        return f"use another version of {self.library}, one that is made for Kafka {self.target}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "library": self.library.name,
            "version": self.library.version or None,
            "to": self.known and self.known.release,
            "kafka": self.known and self.known.kafka,
            "lacks": list(self.lacks),
            "text": self.text,
        }


def raised_libraries(problems: Iterable[Problem], target: Release) -> tuple[RaisedLibrary, ...]:
    """Return the libraries that refer to what is missing, by name; without what only the making of an image uses."""
    lacks: defaultdict[Library, dict[str, None]] = defaultdict(dict)
    for problem in problems:
        for referrer in problem.referred_by:
            if not (referrer.library.is_own or referrer.is_build_time):
                lacks[referrer.library][problem.text] = None
    return tuple(
        RaisedLibrary(library, target.name, tuple(texts), wrapper_for(library.name, library.version, target))
        for library, texts in sorted(lacks.items(), key=lambda item: str(item[0]))
    )
