"""Commands whose broker is broken: a clear error in one line, no hang, bounded memory.

    pytest -m exhaustive tests/lab/integration/test_broken_brokers.py -s

A proxy breaks the answers to one kind of request of a real broker, in each way of ``FAULTS``. Each command is run
against each kind of request that it makes.
"""

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.integration.applications import Application
from tests.lab.integration.breaking_proxy import FAULTS, BreakingProxy
from tests.lab.integration.command_runs import Run, run_once
from tests.lab.integration.subprocesses import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(7200)]

MOST_BYTES = 300 << 20
MOST_LINES = 12
LIBRDKAFKA = {"audit"}
ENDED = {-signal.SIGABRT, -signal.SIGSEGV}
"""librdkafka asserts what an answer has, or reads beyond it."""
PARALLEL = 8
"""Most of a run is waiting."""
COMMANDS = {
    "group": ["group", "{group}", "--timeout", "2"],
    "group list": ["group", "list", "--timeout", "2"],
    "features describe": ["features", "describe", "--timeout", "2"],
    "features upgrade": ["features", "upgrade", "--release-version", "3.9", "--dry-run", "--timeout", "2"],
    "audit": ["audit", "--out", "{out}"],
}


def judged(run: Run, name: str) -> str:
    """What is wrong with a run; empty if nothing is, or if librdkafka has ended the process (see known limits)."""
    if name in LIBRDKAFKA and run.status in ENDED:
        return ""
    end = run.stderr[-600:]
    if run.status is None:
        return f"it hangs: {end}"
    if run.status not in {0, 1, 2}:
        return f"status {run.status}: {end}"
    if "Traceback" in run.stdout + run.stderr:
        return f"a traceback: {end}"
    if run.status and not run.stderr.strip() and not run.stdout.strip():
        return "no word"
    if run.stderr.count("\n") > MOST_LINES:
        return f"more than {MOST_LINES} lines: {run.stderr[:600]}"
    return f"{run.most >> 20} MB" if run.most > MOST_BYTES else ""


@pytest.fixture(name="group", scope="module")
def fixture_group(broker: str):
    """A group of Kafka Streams' protocol with a member, and some commits."""
    application = Application(broker)
    with application.python() as member:
        wait_until(lambda: len(member.tasks) == 6, member)
        application.send(3)
        wait_until(lambda: any(each["event"] == "processed" for each in member.events), member)
        yield application.name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_with_a_broken_broker_ends_with_an_error(broker, group, tmp_path, name):
    def broken(key: int | None, fault: str) -> tuple[Run, list[int]]:
        folder = tmp_path / f"{key}-{fault.replace(' ', '-')}"
        with BreakingProxy(broker, key, fault) as proxy:
            command = [each.format(group=group, out=folder / "audit") for each in COMMANDS[name]]
            return run_once([*command, "--bootstrap-server", proxy.address], folder), sorted(proxy.asked)

    whole, keys = broken(None, "")
    assert whole.status == 0, whole.stdout + whole.stderr
    cases = [(key, fault) for key in keys for fault in FAULTS]
    with ThreadPoolExecutor(PARALLEL) as threads:
        runs = [run for run, _ in threads.map(lambda case: broken(*case), cases)]
    statuses = ", ".join(f"{count} with {status}" for status, count in Counter(run.status for run in runs).items())
    longest, largest = max(run.seconds for run in runs), max(run.most for run in runs)
    print(f"{name}: {len(runs)} runs with APIs {keys}: {statuses}; at most {longest:.0f} s, {largest >> 20} MB")
    judgements = zip(cases, (judged(run, name) for run in runs), strict=True)
    wrong = [f"API {key}, {fault}: {problem}" for (key, fault), problem in judgements if problem]
    assert wrong == [], "\n".join(wrong)
