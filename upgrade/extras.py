"""The optional libraries: which extra has which, and the one sentence about those that are not installed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from streams_assignor.codec import StreamsAssignorError

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "kafka-python": ("kafka",),
    "aiokafka": ("aiokafka",),
    "confluent": ("kafka", "confluent_kafka"),
    "prometheus": ("prometheus_client",),
    "opentelemetry": ("opentelemetry",),
    "tables": ("crc32c", "pyarrow"),
    "spark": ("crc32c", "pandas", "pyarrow", "pyspark"),
    "spark-connect": ("crc32c", "grpc", "pandas", "pyarrow", "pyspark"),
}
"""Extra -> modules that it installs; an extra comes before those that have more. The functions that work without a
library, such as numpy, or has another source, such as Java, is not here."""
_LIBRARIES: Final[Mapping[str, str]] = {
    **{module: module for modules in EXTRAS.values() for module in modules},
    "confluent_kafka": "confluent-kafka",
    "grpc": "grpcio",
    "kafka": "kafka-python",
    "opentelemetry": "opentelemetry-api",
    "prometheus_client": "prometheus-client",
}
"""Top-level module -> name of the library, as users install it."""


class MissingExtraError(StreamsAssignorError, ModuleNotFoundError):
    """An optional library is not installed. The message names the extra and the command that installs it."""


def is_installed(module: str) -> bool:
    """Return whether a module can be imported.

    >>> is_installed("attrs"), is_installed("no_such_module"), is_installed("no_such_module.of_it")
    (True, False, False)
    """
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # a finder or a stub of somebody else
        return False


def how_to_install(missing: Collection[str], needed: Collection[str] = ()) -> str:
    """Return the command that installs modules.

    Args:
        missing: The modules.
        needed: All modules that are needed: an extra that has exactly what a command needs is named as it is.

    >>> how_to_install(["kafka"]), how_to_install(["pyarrow", "confluent_kafka"])
    ("pip install 'streams-assignor[kafka-python]'", "pip install 'streams-assignor[confluent,tables]'")
    """
    covering = [extra for extra, modules in EXTRAS.items() if set(needed or missing) <= set(modules)]
    chosen = set(covering[:1]) or {_first_with(module) for module in missing}
    names = sorted(name for name in chosen if not any(set(EXTRAS[name]) < set(EXTRAS[other]) for other in chosen))
    return f"pip install 'streams-assignor[{','.join(names)}]'"


def _first_with(module: str) -> str:
    return next(extra for extra, modules in EXTRAS.items() if module in modules)


def require(*modules: str) -> None:
    """Refuse to go on without optional libraries.

    Args:
        modules: Top-level modules that are needed.

    Raises:
        MissingExtraError: It names all that are not installed, and one command.
    """
    missing = [module for module in modules if not is_installed(module)]
    if missing:
        *others, last = (_LIBRARIES[module] for module in missing)
        names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        raise MissingExtraError(f"{names} not installed: {how_to_install(missing, modules)}", name=missing[0])


@contextmanager
def importing(*modules: str) -> Iterator[None]:
    """Import what needs optional libraries.

    Args:
        modules: Top-level modules that are needed.

    Raises:
        MissingExtraError: Some are not installed, or in another release, which has moved a name.
    """
    require(*modules)
    try:
        yield
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        if module not in modules:
            raise
        command, library = how_to_install([module], modules), _LIBRARIES[module]
        try:
            problem = f"{version(library)} is not supported ({error.msg})"
        except PackageNotFoundError:  # another distribution has a part of the module
            problem = "is not installed"
        raise MissingExtraError(f"{library} {problem}: {command}", name=error.name) from None
