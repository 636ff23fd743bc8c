"""Rolling bounces simulated with the objects that ship, one by one or by the thousand on Spark."""

from importlib import import_module
from typing import Any

__all__ = ["register", "sweep"]


def __getattr__(name: str) -> Any:
    """Load what is used: PySpark is a large module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "sweep":
        return import_module("streams_assignor.spark_sim.sweep")
    from streams_assignor.spark_sim.audit.api import register

    return register
