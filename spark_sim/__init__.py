"""Rolling bounces simulated with the objects that ship, one by one or by the thousand on Spark."""

from typing import Any

__all__ = ["sweep"]


def __getattr__(name: str) -> Any:
    """Load ``sweep`` when it is used: PySpark is a large module."""
    if name != "sweep":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spark_sim.pipeline.spark.api import sweep

    return sweep
