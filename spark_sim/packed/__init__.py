"""Symmetry-reduced search of every interleaving of the version protocol (``docs/explanation/exploring.md``).

``explore(UpgradeCell(upgrade))`` returns the result for one cell. ``cell`` defines what is explored, ``tables``
what members and leaders send, ``encoding`` the states and actions as integers, ``bfs`` the search.
"""

from spark_sim.packed._cell import FaultBudget, OperatorDeviation, UpgradeCell
from spark_sim.packed.explorer import ExplorationResult, explore

__all__ = ["ExplorationResult", "FaultBudget", "OperatorDeviation", "UpgradeCell", "explore"]
