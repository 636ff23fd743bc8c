"""Names of classes and methods as their sources have them: without what the compilers of Java, Kotlin and Scala add."""

from __future__ import annotations

import re
from typing import Final

_MADE: Final = re.compile(
    r"lambda\$(?P<java>[^$]+)\$.*|\$anonfun\$(?P<scala>[^$]+)\$.*|(?P<delegate>[^$]+)_delegate\$lambda\$.*"
    r"|(?P<kotlin>[^$]+)\$lambda[$-].*|(?P<scala3>.+?)\$\$anonfun\$.*|(?P<lazy>[^$]+)\$lzy.*"
    r"|(?P<default>.+?)\$default(?:\$\d+)?|(?P<adapted>.+)\$(?:adapted|extension)|(?P<local>[^$]+|\$anonfun)\$\d+"
)
"""How compilers name lambdas, lazy values, default arguments, extensions and local functions after what has them."""
_WORDS: Final = {
    "$plus": "+",
    "$minus": "-",
    "$greater": ">",
    "$less": "<",
    "$eq": "=",
    "$colon": ":",
    "$bar": "|",
    "$amp": "&",
    "$times": "*",
    "$div": "/",
    "$percent": "%",
    "$up": "^",
    "$bang": "!",
    "$tilde": "~",
    "$qmark": "?",
    "$at": "@",
    "$hash": "#",
    "$bslash": "\\",
}
"""How Scala writes operators in names."""
_METHODS: Final = {
    "<init>": "constructor",
    "$init$": "constructor",
    "new": "constructor",
    "$lessinit$greater": "constructor",
    "<clinit>": "static initializer",
    "$anonfun": "lambda",
}


def source_class(name: str) -> str:
    """Return the name of a class as its source has it.

    >>> source_class("orders/Main$"), source_class("orders/Enricher$Companion"), source_class("a/OrdersKt$topology$4$1")
    ('orders.Main', 'orders.Enricher.Companion', 'a.OrdersKt.topology')
    """
    package, _, simple = name.replace("/", ".").rpartition(".")
    parts = [part for part in simple.split("$") if part and not part.isdigit()]
    kept = [part for part in parts if part not in {"anon", "anonfun", "lambda", "sam", "inlined", "special"}]
    return f"{package}.{'.'.join(kept or [simple])}".lstrip(".")


def source_method(name: str) -> str:
    """Return the name of a method as its source has it; that of a lambda is the method that it is in.

    >>> [source_method(name) for name in ("lambda$main$0", "$anonfun$run$2", "topology$lambda$3", "$minus$greater")]
    ['main', 'run', 'topology', '->']
    >>> [source_method(name) for name in ("main$$anonfun$7", "a$lzyINIT1", "b_delegate$lambda$0", "c$default$1", "d$4")]
    ['main', 'a', 'b', 'c', 'd']
    >>> [source_method(name) for name in ("$anonfun$new$1", "$init$$$anonfun$1", "$anonfun$2", "e$extension")]
    ['constructor', 'constructor', 'lambda', 'e']
    """
    if name in _METHODS:
        return _METHODS[name]
    if match := _MADE.fullmatch(name):
        return source_method(next(filter(None, match.groups())))
    for written, operator in _WORDS.items():
        name = name.replace(written, operator)
    return name
