"""Runs sweeps: cuts a suite into partitions, computes them on Spark or in local processes, and stores the results.

The package can be called: ``spark_sim.sweep(spark, ...)`` is the function of ``spark_sim.sweep.spark.api``. Python
makes a package an attribute of the one around it as it is imported, so a function of this name would last one call.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Any:
        from streams_assignor.spark_sim.sweep.spark.api import sweep

        return sweep(*args, **settings)


sys.modules[__name__].__class__ = _Callable
