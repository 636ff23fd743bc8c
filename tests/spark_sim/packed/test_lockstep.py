"""The packed model does what the simulation does: random actions in both, compared after each one."""

from collections import Counter
from random import Random

import pytest
from attrs import evolve

from streams_assignor.spark_sim.packed import OperatorDeviation
from streams_assignor.spark_sim.packed.encoding import Encoding
from tests.each import each_third
from tests.spark_sim.packed.cells import cell
from tests.spark_sim.packed.lockstep import walk

PAIRS = {
    "probing": cell("2.4.1", "3.9.2"),
    "probing by the text of the KIP": cell("kip-268", "kip-268-next"),
    "KAFKA-8649": cell("2.0.1", "2.1.1"),
    "KAFKA-8649, the way back": cell("2.1.1", "2.0.1"),
    "KAFKA-6054": cell("0.10.0.1", "0.10.1.1"),
    "upgrade.from forgotten": cell("1.1.1", "2.0.1"),
    "downgrade below version probing": cell("3.9.2", "1.1.1"),
    "two bounces": cell("1.1.1", "2.4.1", "1.1"),
    "two bounces from 0.10.0": cell("0.10.0.1", "1.1.1", "0.10.0"),
    "to cooperative members": cell("2.3.1", "2.5.1", "2.3"),
    "from cooperative members": cell("2.4.1", "2.3.1"),
    "ids are kept": cell("3.9.2", "2.6.0"),
    "offline": cell("1.1.1", "3.9.2", offline=True),
    "rolled back": cell("2.0.1", "2.4.1", deviation=OperatorDeviation.ROLLED_BACK),
    "one mistake": cell("1.1.1", "2.4.1", "1.1", deviation=OperatorDeviation.MISTAKEN),
}
FAILING = {"KAFKA-8649", "KAFKA-8649, the way back", "KAFKA-6054", "upgrade.from forgotten", "one mistake"}


@pytest.mark.parametrize("name", each_third(PAIRS))
def test_simulated_members_take_the_same_actions_with_the_same_result(name):
    faults = evolve(PAIRS[name].faults, crashes=1, rebalance_timeouts=1)
    packed = Encoding(evolve(PAIRS[name], faults=faults, may_miss_responses=True))
    random = Random(f"{name} 2")
    walks = [walk(packed, random, most=150) for _ in range(12)]
    ends = Counter(how for _, how in walks)

    assert sum(length for length, _ in walks) > 12 * 15
    assert bool(ends["death"]) == (name in FAILING | {"downgrade below version probing"}), ends
