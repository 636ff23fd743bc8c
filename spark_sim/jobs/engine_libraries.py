"""The libraries that a job needs, by where it runs."""

from __future__ import annotations

from typing import Final

from streams_assignor.upgrade.extras import require

_PROCESSES: Final = "processes"
_REMOTE: Final = "sc:"
ARROW: Final = ("pyarrow",)
"""The libraries for tables."""
SPARK: Final = ("pandas", "pyarrow", "pyspark")
"""The libraries with which Spark runs Python over Arrow."""
_REMOTE_SPARK: Final = (*SPARK, "grpc")


def require_engine(engine: str, *others: str) -> None:
    """Refuse an engine without its libraries.

    Args:
        engine: ``processes``, a Spark master, or the ``sc://`` address of a Spark Connect server.
        others: Further modules that are needed.

    Raises:
        MissingExtraError: It names all that are not installed, and one command.
    """
    needed = ARROW if engine == _PROCESSES else _REMOTE_SPARK if engine.startswith(_REMOTE) else SPARK
    require(*needed, *others)
