"""Checks that a client library still has the private names that its adapter uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from importlib.metadata import version
from inspect import unwrap
from types import FunctionType

from streams_assignor.errors import UsageError


def missing_names(root: object, names: Iterable[str]) -> list[str]:
    """Return the dotted names that ``root`` does not have; a name may be a key of a dictionary."""
    return [name for name in names if not _has(root, name)]


def instances_have(kind: type, name: str) -> bool:
    """Whether instances of a class have an attribute: one of the class, or one that a constructor mentions.

    Tracing tools wrap constructors, so the function that they wrap counts.
    """
    constructors = (unwrap(vars(base)["__init__"]) for base in kind.__mro__ if "__init__" in vars(base))
    return hasattr(kind, name) or any(
        name in constructor.__code__.co_names for constructor in constructors if isinstance(constructor, FunctionType)
    )


def missing_attributes(kinds: Iterable[type], names: Iterable[str]) -> list[str]:
    """Return the names, each a class and an attribute, of which instances lack the attribute."""
    by_name = {kind.__name__: kind for kind in kinds}
    found = [(name, *name.split(".")) for name in names]
    return [name for name, kind, attribute in found if not instances_have(by_name[kind], attribute)]


def unsupported_library(library: str, tested: str, root: str, missing: Iterable[str]) -> UsageError:
    """Return the error for a release of a library that lacks private names of ``root``."""
    return UsageError(
        f"{library} {version(library)} has no {', '.join(f'{root}.{name}' for name in missing)}, which the adapter "
        f"needs for safe rebalances: install {library} {tested}, or a newer streams-assignor"
    )


def _has(root: object, name: str) -> bool:
    try:
        reduce(_step, name.split("."), root)
    except (AttributeError, KeyError):
        return False
    return True


def _step(value: object, name: str) -> object:
    return value[name] if isinstance(value, Mapping) and name in value else getattr(value, name)
