"""How often the audit finds the right cause: its causes beside what the broker, the members and the driver logged.

``python -m tests.integration.rebalance_causes --write`` plays the scenarios on a real broker, all groups at a time
(five minutes), audits the broker's segments, and stores the number of right, wrong and unknown causes in
docs/reference/audit-causes.json, of which docs/tables.py makes a table.

The truth of a generation is the broker's own log: the coordinator says why it prepares a rebalance ("Adding new
member", "removing member on heartbeat expiration", "on LeaveGroup", "Leader re-joining", "Updating metadata"), and
repeats the reason that a client of 3.2 or later gives (KIP-800). Where the client gives none, its own log has it, and
last the driver's: which topics grew, who subscribes to others. The audit sees nothing of these logs. ``member-gone``
(left or timed out) counts as unknown. If generations before one did not complete, it has several truths.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from attrs import define, field
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from spark_sim.audit.job import run_audit
from spark_sim.audit.partition_audit import AuditFilter
from spark_sim.audit.sources import segments_source
from tests.integration.clusters import NEWEST, OLDER, Cluster
from tests.integration.group_scenarios import ScenarioStep
from tests.integration.peers import Group, Member
from tests.integration.topologies import PARTITIONS

RESULTS: Final = Path(__file__).parents[2] / "docs" / "reference" / "audit-causes.json"
_LOGGERS: Final = ("org.apache.kafka.streams.processor.internals", "org.apache.kafka.clients.consumer.internals")
_LOG: Final = "-Dorg.slf4j.simpleLogger"
_JAVA_OPTIONS: Final = " ".join(
    [
        f"{_LOG}.showDateTime=true",
        f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
        *(f"{_LOG}.log.{name}=info" for name in _LOGGERS),
    ]
)
_QUIET_SECONDS: Final = 4.0
_PATIENCE_SECONDS: Final = 60.0
_SEND_SECONDS: Final = 0.5
_OURS: Final = "python1@streams-assignor"

# A word is one of ``ScenarioStep``, or: +N (the source topic gets N partitions), ~SECONDS (wait).
STREAMS: Final = {
    "java": ("stateful", f"java1@{NEWEST} java2@{NEWEST} java3@{NEWEST} !java2 java2@{NEWEST} java1@{NEWEST} -java3"),
    "java and ours": (
        "stateful",
        f"{_OURS} java1@{OLDER} -python1 {_OURS} !java1 java1@{OLDER} java1@{OLDER} !python1 {_OURS} -java1",
    ),
    "bounce to 3.9": ("stateful", f"java1@2.8.2 java2@2.8.2 java1@{OLDER} java2@{OLDER}"),
    "bounce to 2.6": ("stateful", "java1@2.3.1 java2@2.3.1 java1@2.6.3 java2@2.6.3"),
    "growing": (
        "stateless",
        f"java1@{NEWEST},metadata.max.age.ms=3000 java2@{NEWEST},metadata.max.age.ms=3000 +8 +9 !java1 +12",
    ),
    "static": (
        "stateful",
        f"java1@{NEWEST},group.instance.id=a java2@{NEWEST},group.instance.id=b java1@{NEWEST},group.instance.id=a "
        f"!java2 java2@{NEWEST},group.instance.id=b",
    ),
    "warm-up": (
        "stateful",
        f"java1@{NEWEST},acceptable.recovery.lag=0,probing.rebalance.interval.ms=60000 ~20 "
        f"java2@{NEWEST},acceptable.recovery.lag=0,probing.rebalance.interval.ms=60000 ~200",
    ),
}
# Plain consumers: NAME starts, -NAME, !NAME, +N, NAME:subscribe, NAME:stall, &NAME restarts
# after a kill, before the session ends.
_PLAIN_LINE: Final = "a b c -b b !c c +8 a:subscribe &b +10 b:stall -a a !a -c -b"
PLAIN: Final[Mapping[str, tuple[dict[str, str], str]]] = {
    "range": ({"partition.assignment.strategy": "range"}, _PLAIN_LINE),
    "cooperative": ({"partition.assignment.strategy": "cooperative-sticky"}, _PLAIN_LINE),
    "idle": ({"partition.assignment.strategy": "range"}, "a b c -b b !c c -a a !b -c -a"),
    "static consumers": ({"group.instance.id": "{name}"}, "a b c &b -c c !b b !a &c"),
}


@define
class Trigger:
    """Why the coordinator prepared a rebalance, as it logged it."""

    at: str
    """Time of day."""
    number: int
    """The generation before."""
    reason: str
    known: Mapping[str, str]
    """The members that the coordinator knew, and their clients' names."""
    joined: set[str] = field(factory=set)
    """The clients that got a member id while it waited for members."""


@define
class Played:
    """What the driver knows of a group."""

    group: str
    name: str
    members: dict[str, list[Member]] = field(factory=lambda: defaultdict(list))
    steps: list[tuple[str, str]] = field(factory=list)
    """Time of day, and the word."""


def clock() -> str:
    now = time.time()
    return f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03}"


class Driver:
    """Plays the scenarios on one broker."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.brokers, self.folder = cluster.brokers, folder
        self.log = cluster._running[1].lines
        self.topics: dict[str, int] = {}
        self.played: list[Played] = []

    def settle(self, group: str, since: int, patience: float = _PATIENCE_SECONDS) -> None:
        """Wait until the coordinator has completed a rebalance of a group, and then been quiet."""
        deadline, seen, changed, complete = time.monotonic() + patience, since, time.monotonic(), False
        while time.monotonic() < deadline:
            lines = self.log[seen:]
            seen += len(lines)
            for line in lines:
                if group in line:
                    changed = time.monotonic()
                    complete = "Assignment received" in line or "is now empty" in line
            if complete and time.monotonic() - changed > _QUIET_SECONDS:
                return
            time.sleep(0.2)

    def grow(self, topic: str, number: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.brokers})
        admin.create_partitions([NewPartitions(topic, number)])[topic].result(60)
        self.topics[topic] = number

    def streams(self, name: str, shape: str, line: str) -> None:
        with Group(self.brokers, shape, self.folder / "state") as group:
            played = Played(group.topics.application, name)
            self.played.append(played)
            self.topics[group.topics.source] = PARTITIONS
            for word in line.split():
                since = len(self.log)
                played.steps.append((clock(), word))
                if word.startswith("~"):
                    time.sleep(float(word[1:]))
                elif word.startswith("+"):
                    self.grow(group.topics.source, int(word[1:]))
                    self.settle(played.group, since, 20)
                else:
                    self._step(group, ScenarioStep.parse(word), played)
                    again = "group.instance.id" in word and len(played.members[ScenarioStep.parse(word).name]) > 1
                    self.settle(played.group, since, 12 if again else _PATIENCE_SECONDS)

    def _step(self, group: Group, word: ScenarioStep, played: Played) -> None:
        if word.kills:
            group.kill(word.name)
        elif word.name in group.members:
            group.members.pop(word.name).stop()
        if word.release:
            # A restarted process has its folder again, and with it its process id.
            group.sent += 1
            state = {} if word.name.startswith("python") else {"state.dir": str(self.folder / played.group / word.name)}
            group.start(word.name, word.release, **state, **word.settings)
            played.members[word.name].append(group.members[word.name])

    def plain(self, name: str, settings: Mapping[str, str], line: str) -> None:
        group = f"plain-{name.replace(' ', '-')}"
        topics = [f"{group}-1", f"{group}-2"]
        admin = AdminClient({"bootstrap.servers": self.brokers})
        for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
            future.result(60)
        if name != "idle":
            self.topics.update(dict.fromkeys(topics, PARTITIONS))
        played, running = Played(group, name), dict[str, Member]()
        self.played.append(played)

        def start(client: str) -> None:
            given = {
                "bootstrap.servers": self.brokers,
                "group.id": group,
                "client.id": client,
                "session.timeout.ms": "6000",
                "auto.commit.interval.ms": "1000",
                "heartbeat.interval.ms": "1000",
                "max.poll.interval.ms": "8000",
                "topic.metadata.refresh.interval.ms": "2000",
                "debug": "cgrp",
                **{key: value.format(name=client) for key, value in settings.items()},
            }
            command = [sys.executable, "-m", "tests.integration.plain_member", topics[0]]
            running[client] = Member(client, [*command, *(f"{key}={value}" for key, value in given.items())], {})
            played.members[client].append(running[client])

        try:
            for word in line.split():
                since, patience = len(self.log), 20.0
                played.steps.append((clock(), word))
                client, _, what = word.partition(":")
                if word.startswith("+"):
                    self.grow(topics[0], int(word[1:]))
                elif what:
                    print(what, ",".join(topics), file=running[client]._process.stdin, flush=True)
                elif word[0] in "-&!":
                    running.pop(word[1:]).stop() if word[0] == "-" else running.pop(word[1:]).kill()
                    if word[0] == "&":
                        start(word[1:])
                else:
                    start(word)
                self.settle(group, since, patience)
        finally:
            for member in running.values():
                member.stop()


def triggers(log: list[str]) -> dict[str, list[Trigger]]:
    """Return why the coordinator prepared each rebalance, by group."""
    found: dict[str, list[Trigger]] = defaultdict(list)
    known: dict[str, dict[str, str]] = defaultdict(dict)
    for line in log:
        at = line[:12]
        if match := re.search(
            r"Preparing to rebalance group (\S+) in state \S+ with old generation (-?\d+).*?\(reason: (.*)\)", line
        ):
            group, number, reason = match.groups()
            found[group].append(Trigger(at, int(number), reason, dict(known[group])))
            if gone := re.search(r"[Rr]emoving member (\S+) on ", reason):
                _forget(known[group], gone[1])
            if added := re.search(r"Adding new member (\S+)", reason):
                known[group][added[1]] = client_name(added[1])
        if match := re.search(r"joins group (\S+) in (\S+) state\. Created a new member id (\S+)", line):
            group, state, member_id = match.groups()
            known[group][member_id] = client_name(member_id)
            if state == "PreparingRebalance":
                found[group][-1].joined.add(client_name(member_id))
        for words in (
            r"[Mm]ember (?P<member>\S+) in group (?P<group>\S+) has (?:failed|left)",
            r"Group (?P<group>\S+): .*?member (?P<member>\S+) .*?(?:removed|left)",
            r"\[Group (?P<group>\S+)\] Member (?P<member>\S+) has left",
        ):
            if match := re.search(words, line):
                _forget(known[match["group"]], match["member"])
    return found


def _forget(known: dict[str, str], member_id: str) -> None:
    """Remove a member; the coordinator does not log the id of a static member that has replaced another one."""
    if known.pop(member_id, None) is None:
        for each in [each for each, name in known.items() if name == client_name(member_id)]:
            del known[each]


def client_name(member_id: str) -> str:
    """Return what the driver calls a member: its client id begins with it."""
    return re.split(r"-StreamThread|-[0-9a-f]{8}-[0-9a-f]{4}-|-kafka-python", member_id)[0]


def truth_of(trigger: Trigger, played: Played, since: str, is_first: bool) -> str | None:
    """Return the cause that the logs tell, or None; ``is_first``: after the last step of the driver."""
    reason, _, client_reason = trigger.reason.partition("client reason: ")
    if match := re.search(r"removing member (\S+) on heartbeat expiration", reason):
        # Its process was started again, and the new member is in the same generation.
        return "member-restarted" if client_name(match[1]) in trigger.joined else "member-timed-out"
    if "LeaveGroup" in reason:
        is_stalled = "poll timeout" in client_reason or _last(played, trigger.at).endswith(":stall")
        return "member-timed-out" if is_stalled else "member-left"
    if match := re.search(r"Adding new member (\S+) with group instance id (?:Some\()?(\w+)", reason):
        again = client_name(match[1]) in [name for member, name in trigger.known.items() if member != match[1]]
        static = match[2] not in ("null", "None")
        return ("static-member-restarted" if static else "member-restarted") if again else "member-joined"
    match = re.search(r"(?:Leader|for member|for static member) (\S+)", reason)
    return _rejoined(trigger, client_reason, played, client_name(match[1]) if match else "", since, is_first)


def _last(played: Played, at: str) -> str:
    return [word for moment, word in played.steps if moment <= at][-1]


_EVIDENCE: Final = (
    # Kafka Streams and our members.
    (r"version probing|version-probing", "version-probing"),
    (r"need to revoke|Revoked partitions[^\[]*\[[^\]]", "follow-up"),
    (r"followup rebalance scheduled for (?:0\b|1970)|immediate rebalance|follow-up", "follow-up"),
    (r"followup rebalance scheduled for", "probing-rebalance"),
    # librdkafka, with debug=cgrp.
    (r"REJOIN.*(?:redistribute|unassign|revoke)", "follow-up"),
    (
        r"(?:REJOIN|REBALANCE|SUBSCRI|GRPRESUB).*(?:new subscription|resubscri|subscription (?:changed|unset))",
        "subscription-changed",
    ),
    (r"metadata has changed|[Mm]etadata.*change|partition count|[Tt]opic.*changed", "leader-rejoined"),
)
"""What the own log of a member says about joining again, and the cause."""


def own_log(played: Played, name: str, since: str, until: str) -> list[str]:
    """Return what the processes of a name logged in an interval; a line without a time has that of the line before."""
    found, moment = [], ""
    for member in played.members.get(name, ()):
        for line in list(member.lines):
            moment = _moment(line) or moment
            if since <= moment <= until:
                found.append(line)
    return found


def _moment(line: str) -> str:
    if match := re.match(r"%\d\|(\d+)\.(\d{3})", line):
        return _clock_of(int(match[1] + match[2]))
    match = re.match(r"(?:rejoins )?(\d\d:\d\d:\d\d\.\d{3})", line)
    return match[1] if match else ""


def _rejoined(
    trigger: Trigger, client_reason: str, played: Played, name: str, since: str, is_first: bool
) -> str | None:
    """Say why a member joined again: by the reason that it gave, by its own log, or by what the driver did before."""
    own = "\n".join(own_log(played, name, since, trigger.at))
    if (match := re.search(r"followup rebalance scheduled for (\d+)", client_reason)) and match[1] != "0":
        return "probing-rebalance"
    given = client_reason + "\n" + own
    found = next((cause for pattern, cause in _EVIDENCE if re.search(pattern, given)), None)
    step = _last(played, trigger.at)
    if found in (None, "leader-rejoined") and is_first:
        if step.startswith("+"):
            return "partitions-added"
        if step.endswith(":subscribe"):
            return "subscription-changed"
    return found


def compare(rows: list[dict[str, Any]], log: list[str], played: list[Played]) -> list[dict[str, Any]]:
    """Return the truth and the audit's cause of each rebalance."""
    of_broker = triggers(log)
    found = []
    for one in played:
        before: dict[str, Any] | None = None
        for row in sorted((row for row in rows if row["group"] == one.group), key=lambda row: row["offset"]):
            number = before["generation"] if before else -1
            since = [each for each in of_broker[one.group] if number <= each.number < row["generation"]]
            moment = _clock_of(before["time"]) if before else "00:00:00.000"
            step = max((at for at, _ in one.steps if not since or at <= since[0].at), default="")
            truths = [truth_of(each, one, moment, moment < step) for each in since]
            if row["members"] == 0:
                truths = ["all-members-left"] if before else []
            elif before is None or before["members"] == 0:
                truths = ["group-started"]
            if truths:
                verdict = _verdict(row, truths)
                facts = {"scenario": one.name, "generation": row["generation"], "truths": truths, "verdict": verdict}
                found.append({**facts, "cause": row["cause"], "confidence": row["confidence"], "detail": row["detail"]})
                found[-1]["reasons"] = [each.reason for each in since]
                found[-1]["own"] = _rejoin_lines(one, since, moment)
            before = row
    return found


def _rejoin_lines(played: Played, since: list[Trigger], moment: str) -> list[str]:
    """Return what members logged about joining again, to look at."""
    words = "|".join(pattern for pattern, _ in _EVIDENCE) + "|REJOIN"
    found = []
    for each in since:
        match = re.search(r"(?:Leader|for member|for static member) (\S+)", each.reason)
        lines = own_log(played, client_name(match[1]), moment, each.at) if match else []
        found += [line[:200] for line in lines if re.search(words, line)]
    return found


def _clock_of(ms: int) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(ms // 1000))}.{ms % 1000:03}"


def _verdict(row: dict[str, Any], truths: list[str | None]) -> str:
    if not any(truths):
        return "no truth"
    if row["confidence"] == "unknown" or row["cause"] in ("unknown", "member-gone"):
        return "unknown"
    return "right" if row["cause"] in truths else "wrong"


@contextmanager
def records(brokers: str, topics: Mapping[str, int]) -> Iterator[None]:
    """Send records to all topics, all the time."""
    producer, ended = Producer({"bootstrap.servers": brokers}), Event()

    def send() -> None:
        while not ended.wait(_SEND_SECONDS):
            for topic, partitions in list(topics.items()):
                for partition in range(min(PARTITIONS, partitions)):
                    producer.produce(topic, key=str(partition), value=b"x", partition=partition)
            producer.poll(0)

    thread = Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.flush(10)


def play(release: str, folder: Path, only: str = "") -> list[dict[str, Any]]:
    """Play all scenarios on a broker, and compare the audit of its segments with the logs."""
    import pyarrow.parquet as pq

    os.environ["JAVA_TOOL_OPTIONS"] = _JAVA_OPTIONS
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(folder, "3.9-IV0" if release == OLDER else "4.0-IV3"))
        settings = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0"}
        cluster.start(1, release, settings=settings)
        driver = Driver(cluster, folder)
        lanes: list[Callable[[], None]] = [
            lambda n=n, o=o: driver.streams(n, *o) for n, o in STREAMS.items() if only in n
        ]
        lanes += [lambda n=n, o=o: driver.plain(n, *o) for n, o in PLAIN.items() if only in n]
        with records(cluster.brokers, driver.topics):
            threads = [Thread(target=lane) for lane in lanes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        run_audit(segments_source(folder / "1" / "data"), folder / "audit", AuditFilter(), processes=1)
        rows = pq.read_table(folder / "audit" / "generations").to_pylist()
        return compare(rows, list(driver.log), driver.played)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[2])
    parser.add_argument("--broker", default=NEWEST, help="release of the broker")
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    parser.add_argument("--write", action="store_true", help="store the counts for the documentation")
    parser.add_argument("--log", type=Path, help="a file for each rebalance with its truth")
    parser.add_argument("--keep", type=Path, help="a new folder for the broker, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causes-") as scratch:
        found = play(options.broker, options.keep or Path(scratch), options.only)
    if options.log:
        options.log.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in found:
        counts[next(filter(None, each["truths"]), "no truth")][each["verdict"]] += 1
    for cause, of in sorted(counts.items()):
        print(cause, dict(of))
    for each in found:
        if each["verdict"] in ("wrong", "no truth"):
            print(json.dumps(each))
    if options.write:
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        kept[options.broker] = {cause: dict(of) for cause, of in sorted(counts.items())}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
