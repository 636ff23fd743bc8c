"""Members of the two adapters whose broker is broken for some seconds: they go on, or raise an error.

    pytest -m exhaustive tests/lab/integration/test_broken_coordinators.py -s

A proxy breaks the answers to one kind of request, in each way of ``FAULTS``: see ``broken_member.py``.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

import pytest

from tests.lab.integration.applications import Application
from tests.lab.integration.breaking_proxy import FAULTS
from tests.lab.integration.broken_member import LIBRARIES

pytestmark = [pytest.mark.broker, pytest.mark.exhaustive, pytest.mark.slow, pytest.mark.timeout(7200)]

APIS = {
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "SyncGroup": 14,
    "ApiVersions": 18,
}
MOST_MEGABYTES = 400
BOOTSTRAP = {"Metadata", "ApiVersions"}
"""A first connection, made before the adapter sees it: its responses have no limit in memory."""
ENDLESS = {("aiokafka", "Metadata"), ("aiokafka", "ApiVersions")}
"""``start`` waits for ever after some of these answers with other bytes, whatever the broker answers later."""
PARALLEL = 8
"""Most of a run is waiting."""


def judged(course: dict, api: str) -> str:
    """What is wrong with the course of a member; empty if nothing is."""
    if course["lost"]:
        return f"commits that the broker does not have: {course['lost']}"
    if not course["recovered"] and not course["later"]:
        return "it reads nothing, and raises no error"
    is_limited = api not in BOOTSTRAP or course["fault"] != "endless"
    return f"{course['most']} MB" if is_limited and course["growth"] > MOST_MEGABYTES else ""


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_member_with_a_broken_broker_goes_on_or_raises(broker, library):
    application = Application(broker)
    application.send(800)

    def courses(api: str) -> list[dict]:
        program = [sys.executable, "-m", "tests.lab.integration.broken_member"]
        arguments = [library, broker, f"{application.name}-{api}", application.source, str(APIS[api])]
        ended = run([*program, *arguments], capture_output=True, text=True, timeout=3600)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return [json.loads(line) for line in ended.stdout.splitlines()]

    apis = [each for each in APIS if (library, each) not in ENDLESS]
    with ThreadPoolExecutor(PARALLEL) as threads:
        found = dict(zip(apis, threads.map(courses, apis), strict=True))
    assert {len(FAULTS)} == {len(each) for each in found.values()}
    every = [each for some in found.values() for each in some]
    went_on = sum(each["recovered"] for each in every)
    slowest = max(each["seconds"] for each in every if each["recovered"])
    print(f"{library}: {len(every)} faults, {went_on} members went on, at most {slowest:.0f} s after the fault")
    wrong = [
        f"{api}, {each['fault']}: {judged(each, api)}" for api in found for each in found[api] if judged(each, api)
    ]
    assert wrong == [], "\n".join(wrong)
