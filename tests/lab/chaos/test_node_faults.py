"""A node that goes and comes back, on a machine so slow that the next fault of it begins before it is ready."""

from types import SimpleNamespace

import pytest

from tests.lab.chaos.fault_schedule import Fault
from tests.lab.chaos.faults import FAULTS


class FakeChaos:
    """One node, and an agenda that is done one after the other."""

    def __init__(self, *, runs):
        self.running = runs
        self.ended = []
        self.agenda = []
        self.cluster = SimpleNamespace(
            runs=lambda _node: self.running,
            ready=lambda _node: False,
            stop=self.ended.append,
            restart=lambda _node: setattr(self, "running", True),
        )

    def say(self, _text):
        pass

    def schedule(self, _seconds, what):
        self.agenda.append(what)


@pytest.mark.parametrize("runs", [True, False])
def test_a_node_that_goes_again_before_it_was_ready_ends_the_looks_at_it(runs):
    """A run ended with KeyError: the node was looked at, or stopped, that another fault had stopped."""
    chaos = FakeChaos(runs=runs)
    FAULTS["node"](chaos, Fault("node", "3", 1.0))
    assert ([3] if runs else []) == chaos.ended
    if runs:
        (come_back,) = chaos.agenda
        come_back()
        look = chaos.agenda[-1]
        look()
        assert 3 == len(chaos.agenda)  # it looks again
        chaos.running = False
        look()
        assert 3 == len(chaos.agenda)
