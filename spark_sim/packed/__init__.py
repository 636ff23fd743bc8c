"""Symmetry-reduced search of every interleaving of the version protocol (``docs/explanation/exploring.md``).

This is a second implementation of two things that ``spark_sim.model`` has: the coordinator's transitions (``actions``,
``_process_state``) and the property that all members use the highest common version (``Encoding.check_eventually``).
The reason is speed: a cell has up to millions of states, each of which would need members of its own.
``tests/spark_sim/packed/test_lockstep.py`` takes random actions in both and compares them after each, and
``tests/spark_sim/search/test_coverage.py`` replays every transition of small cells. The messages of members, and how
leaders answer, is not repeated: ``tables`` asks the real objects.

``explore(UpgradeCell(upgrade))`` returns the result for one cell. ``cell`` defines what is explored, ``tables``
what members and leaders send, ``encoding`` the states and actions as integers, ``bfs`` the search.
"""

from streams_assignor.spark_sim.packed._cell import FaultBudget, OperatorDeviation, UpgradeCell
from streams_assignor.spark_sim.packed.explorer import ExplorationResult, explore

__all__ = ["ExplorationResult", "FaultBudget", "OperatorDeviation", "UpgradeCell", "explore"]
