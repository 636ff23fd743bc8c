"""Every interleaving of the version protocol, for groups of a few members (``docs/guide/exploring.md``).

``explore(Cell(upgrade))`` answers; ``course`` says what is explored, ``tables`` who says what, ``packed`` what a state
and a move are, ``search`` finds them all, ``counting`` and ``paths`` read what was found.
"""

from spark_sim.explore.course import Cell, Faults, Variant
from spark_sim.explore.exploring import Explored, explore

__all__ = ["Cell", "Explored", "Faults", "Variant", "explore"]
