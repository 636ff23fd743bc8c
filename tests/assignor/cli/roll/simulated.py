"""A cluster whose group is a simulation that goes on when a command of an operator has run: real bytes, no broker."""

import sys
from functools import cache

from attrs import evolve
from click.testing import CliRunner

from streams_assignor.cli.roll.command import roll
from streams_assignor.groups.offsets import GroupOffsets
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from tests.spark_sim.forecast.live import described, members_of

GROUP = "A@3.9.2 B@3.9.2 C@3.9.2"


@cache
def members_after(line):
    return tuple(members_of(Simulation(Scenario.parse(line)).run()))


class SimulatedCluster:
    """A group, and a template that writes what it was told into a file, a line each."""

    def __init__(self, folder, start=GROUP):
        self.folder = folder
        self.start = start
        self.called = folder / "called"
        self.journal = folder / "journal"
        self.report = folder / "report.md"
        self.done = str  # what the group does with a line of the file: a step of a scenario
        self.ends = None
        self.failures = ()
        self.id = "cluster-1"
        self.states = []  # those of the next looks; then what it is

    @property
    def lines(self):
        return self.called.read_text().splitlines() if self.called.exists() else []

    def template(self, *, status=0):
        """A command without a shell, as the operator's program would be."""
        code = f"import os; open({str(self.called)!r}, 'a').write(os.environ['ROLL_INSTANCE'] + '>' + "
        code += "','.join(filter(None, [os.environ['ROLL_RELEASE'], os.environ['ROLL_UPGRADE_FROM'] and "
        code += "'upgrade.from=' + os.environ['ROLL_UPGRADE_FROM']])) + chr(10)); print('token=hunter22'); "
        return f'{sys.executable} -I -c "{code}raise SystemExit({status})" {{instance}}'

    def lookup(self, *_given):
        return self

    def cluster_id(self):
        return self.id

    def group(self, name):
        steps = [f"bounce fast {line}" for line in map(self.done, self.lines) if line]
        state = self.states.pop(0) if self.states else "Stable"
        members = members_after(" | ".join([self.start, *steps])) if state != "Empty" else ()
        return evolve(described(name, members), state=state)

    def offsets(self, requests, _report):
        committed = dict.fromkeys(requests[0].partitions, 5)
        ends = {} if self.failures else self.ends or committed
        return {requests[0].group: GroupOffsets(committed=committed, ends=ends, failures=self.failures)}

    def words(self, command=None, to="4.3.1"):
        """The arguments of ``roll`` for this cluster."""
        words = [
            "app",
            "--to",
            to,
            "--bootstrap-servers",
            "127.0.0.1:1",
            "--no-lock",
            "--journal",
            str(self.journal),
            "--soak",
            "0",
        ]
        words += ["--from", self.start.partition("@")[2].split()[0], "--interval", "0.1"]
        return [*words, "--restart", command or self.template(), "--report", str(self.report)]

    def roll(self, *arguments, to="4.3.1", command=None, forecast=False, **given):
        given_words = [*map(str, arguments)]
        words = self.words(command, to) + ([] if forecast else ["--no-forecast"])
        for option in [word for word in words if word.startswith("--") and word in given_words]:
            del words[(place := words.index(option)) : place + 2]
        return CliRunner().invoke(roll, [*words, *given_words], **given)
