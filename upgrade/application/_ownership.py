"""Which classes are the application's own: asked for by the user, or told by names, manifests, scripts and packages."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import define, evolve, field

from streams_assignor.upgrade.application.libraries import JarOrigin, Library

SCRIPT: Final = re.compile(r"(?:.*/)?(?:bin/[^/]+|[^/]+\.(?:sh|bat|cmd|service))")
_STARTED_JAR: Final = re.compile(r"-jar\s+[\"']?(?:[^\s\"']*/)?([^\s\"'/]+\.jar)")
_NAMED_CLASS: Final = re.compile(r"(?<![\w.$=/:-])[A-Za-z_]\w*(?:\.\w+)+(?![\w./:-])")
_SHARED_ROOTS: Final = ("com/github", "io/github", "org/apache")
"""Packages of many publishers: one of them has a third part."""
_MOST_ROOTS: Final = 3
"""A jar with classes of more publishers is a merged one, whose packages say nothing."""


@define(eq=False)
class Jar:
    """Where classes are: a jar, or loose files in a folder, a tar or an image."""

    name: str
    """The name of its file."""
    origin: JarOrigin
    is_own: bool
    """It is the application's: at first as far as its place and its name tell."""
    is_named: bool = False
    """The user names it."""
    is_unclear: bool = False
    """Nothing says whose it is, or the user names it and its manifest says that it is for others."""
    has_classes: bool = False
    has_jars: bool = False
    has_roots: bool = False
    """It has folders of classes that only an application has: a war, a jar of Spring Boot."""
    roots: set[str] = field(factory=set)
    """The packages of its classes, as far as they tell a publisher."""

    @property
    def library(self) -> Library:
        """The library with the name of this jar."""
        return evolve(self.origin.library, is_own=self.is_own)


class Ownership:
    """Decides for each class whether it is the application's own, when all of them are known.

    Args:
        patterns: The application's own parts, as the user says: names of jars, packages or classes, with ``*``. If
            there are any, nothing else decides.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = {
            pattern: re.compile("|".join(map(fnmatch.translate, (pattern, f"{pattern}.*")))) for pattern in patterns
        }
        self.unmatched = set(patterns)
        """The patterns that nothing fits so far."""
        self._commands: list[str] = []

    def add_command(self, text: str) -> None:
        """Note a script, or the command of an image."""
        self._commands.append(text)

    def decide(self, jars: Sequence[Jar], jars_of_class: Mapping[str, Iterable[Jar]]) -> None:
        """Spread from what is known: to jars that are started, and to those of the same publisher."""
        if self._patterns:
            for jar in jars:
                jar.is_own = self._is_asked(jar.name, jar.origin.library.name)
            return
        started = {name for text in self._commands for name in _STARTED_JAR.findall(text)}
        classes = {name.replace(".", "/") for text in self._commands for name in _NAMED_CLASS.findall(text)}
        for jar in jars:
            jar.is_own |= jar.name in started
        for jar in (jar for name in classes for jar in jars_of_class.get(name, ())):
            jar.is_own = True
        own = [jar for jar in jars if jar.is_own]
        groups = {jar.origin.library.group for jar in own} - {""}
        roots = {root for jar in own for root in _roots_that_tell(jar)}
        for jar in jars:
            if not jar.origin.library.is_agent and (jar.origin.library.group in groups or jar.roots & roots):
                jar.is_own = True
            jar.is_unclear = not jar.is_own and (jar.is_named or not jar.origin.is_described)

    def library_of(self, jar: Jar, name: str, *, in_root: bool) -> Library:
        """Return where a class comes from."""
        if self._patterns:
            asked = self._is_asked(name.replace("/", "."), jar.name, jar.origin.library.name)
            return evolve(jar.origin.library_of(name), is_own=asked)
        if in_root:
            return evolve(jar.origin.library, is_own=True)
        if jar.has_roots:
            return evolve(jar.origin.library, is_own=False)
        library = jar.origin.library_of(name)
        return jar.library if library is jar.origin.library else library

    def _is_asked(self, *texts: str) -> bool:
        fitting = [pattern for pattern, regex in self._patterns.items() if any(map(regex.fullmatch, texts))]
        self.unmatched.difference_update(fitting)
        return bool(fitting)


def root_of(name: str) -> str:
    """Return the part of a class's package that tells its publisher; empty without a package.

    >>> root_of("com/example/orders/Main"), root_of("org/apache/avro/Schema"), root_of("Main")
    ('com/example', 'org/apache/avro', '')
    """
    *parts, _ = name.split("/", 4)
    root = "/".join(parts[:2])
    return "/".join(parts[:3]) if root in _SHARED_ROOTS else root


def _roots_that_tell(jar: Jar) -> Iterable[str]:
    if jar.origin.main_class:
        return {root_of(jar.origin.main_class)} & jar.roots
    is_merged = bool(jar.origin.kafka or jar.origin.bundled) or len(jar.roots) > _MOST_ROOTS
    return () if is_merged else jar.roots
