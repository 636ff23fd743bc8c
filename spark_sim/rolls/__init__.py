"""Upgrades that ``roll`` executes, against a simulated group: every decision, with faults and every answer.

``upgrade.roll.engine.decide`` is the operator. The group is simulated coarsely: it settles at once when roll waits, or
is looked at before it has.
"""

from streams_assignor.spark_sim.rolls.searches import ROLL, RollExploration, RollFinding, RollSearch, roll_searches

__all__ = ["ROLL", "RollExploration", "RollFinding", "RollSearch", "roll_searches"]
