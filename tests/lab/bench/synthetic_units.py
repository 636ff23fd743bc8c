"""Work units of a known size, in a module of their own, which workers import."""

from hashlib import sha256

from attrs import frozen

from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.sweep.equivalence import upgrade_class
from streams_assignor.spark_sim.sweep.work_units import COST_OF_A_TASK, WorkUnit
from streams_assignor.upgrade.plans import Upgrade

SECONDS_OF_A_TASK = 3
"""That ``COST_OF_A_TASK`` stands for."""


@frozen
class SyntheticUnit(WorkUnit):
    """Computes hashes, so many thousand; its cost is estimated in seconds."""

    cell: Upgrade
    number: int
    seconds: float
    thousands: int

    result_type = UpgradeResult

    @property
    def key(self):
        return f"{self.number:07}"

    @property
    def class_key(self):
        return upgrade_class(self.cell)

    @property
    def cost(self):
        return self.seconds * COST_OF_A_TASK / SECONDS_OF_A_TASK

    def result(self):
        compute(self.thousands)
        return UpgradeResult(self.cell, states=1)


def compute(thousands):
    digest = b""
    for _ in range(1_000 * thousands):
        digest = sha256(digest).digest()
