"""Audits with made-up groups: rows of the tables, as an audit writes them, and the summary."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streams_assignor.spark_sim.audit.group_summaries import GroupSummaries, group_table
from streams_assignor.spark_sim.audit.job import Audit
from streams_assignor.spark_sim.audit.schema import TABLES

START = 1_795_400_000_000
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>&amp;\u202e\"'"
_SECOND = 1000


def generation(group, number, time, **others):
    """A row of ``generations``."""
    return {
        "group": group,
        "type": "classic",
        "generation": number,
        "offset": number,
        "time": time,
        "until": None,
        "duration_ms": 40,
        "assignment_ms": None,
        "pending": [],
        "skipped": 0,
        "state": "Stable",
        "protocol_type": "consumer",
        "protocol": "stream",
        "leader": "",
        "members": 0,
        "joined": [],
        "gone": [],
        "cause": "member-joined",
        "confidence": "certain",
        "detail": "",
        "used_versions": [],
        "supported_versions": [],
        "probing": False,
        "rejoins": 0,
        "next_rebalance_ms": None,
        "tasks": 6,
        "tasks_moved": 2,
        "tasks_moved_without_state": 1,
        "tasks_revoked": 0,
        "record_bytes": 900,
    } | others


def member(group, member_id, first_time, last_time=None, **others):
    """A row of ``members``."""
    return {
        "group": group,
        "member_id": member_id,
        "name": member_id[-8:],
        "client_id": member_id.rpartition("-")[0],
        "host": "/10.0.0.1",
        "instance_id": None,
        "process_id": None,
        "rack": None,
        "end_point": "",
        "topology_epoch": None,
        "is_classic": None,
        "first_generation": 1,
        "last_generation": 9,
        "first_time": first_time,
        "last_time": last_time,
        "began": "joined",
        "ended": "present" if last_time is None else "left",
        "used_version": 11,
        "supported_version": 11,
        "versions": [],
        "releases": "3.4.0 to 4.3.1",
        "topics": ["orders"],
    } | others


def interval(group, task, role, from_time, until_time, owners=""):
    """A row of ``tasks``."""
    return {
        "group": group,
        "task": task,
        "role": role,
        "member_id": owners,
        "member": owners,
        "from_generation": 1,
        "from_time": from_time,
        "until_time": until_time,
    }


def finding(group, code, severity, text, from_time=START, until_time=None, about=(), number=2):
    """A row of ``findings``."""
    return {
        "group": group,
        "code": code,
        "severity": severity,
        "text": text,
        "members": list(about),
        "generation": number,
        "from_time": from_time,
        "until_time": until_time,
    }


def rolling_bounce(group, processes=4, start=START, old=6, new=11, static=False):
    """A group whose processes are restarted one after the other with a release that knows more; one times out."""
    generations, members, tasks = [], [], []
    time = start
    running = {}
    clients = [f"{group}-{place}-StreamThread-1-consumer" for place in range(processes)]

    def complete(cause, detail, confidence="certain", **others):
        used = sorted({each["used_version"] for each in running.values()})
        generations.append(
            generation(
                group,
                len(generations) + 1,
                time,
                leader=next(iter(running.values()))["member_id"] if running else "",
                members=len(running),
                cause=cause,
                confidence=confidence,
                detail=detail,
                used_versions=used,
                supported_versions=used,
                **others,
            )
        )

    def begin(place, version, began):
        client = clients[place]
        running[place] = member(
            group,
            f"{client}-{len(members) + len(running):08x}-0000",
            time,
            client_id=client,
            host=f"/10.0.{place // 250}.{place % 250}",
            began=began,
            used_version=version,
            supported_version=version,
            first_generation=len(generations) + 1,
            instance_id=f"instance-{place}" if static else None,
        )

    def finish(place, ended):
        members.append(running.pop(place) | {"last_time": time, "ended": ended, "last_generation": len(generations)})

    for place in range(processes):
        begin(place, old, "joined")
        complete("group-started" if place == 0 else "member-joined", f"joined: {clients[place]}", joined=["x"])
        time += 3 * _SECOND
    time += 600 * _SECOND
    for place in range(processes):
        finish(place, "restarted" if place % 3 else "timed-out")
        begin(place, new, "restarted")
        complete("member-restarted", f"restarted: {clients[place]}", "likely", joined=["x"], gone=["y"])
        tasks += [interval(group, f"0_{task}", "unowned", time, time + 8 * _SECOND) for task in range(3)]
        time += 8 * _SECOND
        complete("follow-up", "rejoined after the last assignment", tasks_revoked=3)
        time += 90 * _SECOND
    tasks.append(interval(group, "0_5", "owned-twice", time, time + 40 * _SECOND, "a b"))
    complete("member-timed-out", f"timed out: {clients[0]}", "likely", gone=["y"])
    time += 40 * _SECOND
    complete("unknown", "no rule explains it from the records", "unknown")
    members += running.values()
    return {"generations": generations, "members": members, "tasks": tasks}


def storm(group, rebalances, start=START, members=3):
    """A consumer group, without Kafka Streams, that rebalances all the time."""
    names = [f"{group}-consumer-{place:04}" for place in range(members)]
    causes = ("member-joined", "member-timed-out", "unknown")
    return {
        "generations": [
            generation(
                group,
                number + 1,
                start + number * 9 * _SECOND,
                protocol="range",
                leader=names[0],
                members=members,
                cause=causes[number % 3],
                confidence=("certain", "likely", "unknown")[number % 3],
                detail=f"joined: {names[number % members]}",
            )
            for number in range(rebalances)
        ],
        "members": [
            member(group, name, start, used_version=None, supported_version=None, releases=None) for name in names
        ],
        "tasks": [],
    }


def summary(group, rows, findings=(), **others):
    """The summary of a group."""
    last = max((row["time"] for row in rows["generations"]), default=START)
    return {
        "group": group,
        "type": "classic",
        "generations": len(rows["generations"]),
        "members": sum(row["last_time"] is None for row in rows["members"]),
        "last_state": "Stable",
        "last_time": last,
        "causes": dict(Counter(row["cause"] for row in rows["generations"]).most_common()),
        "findings": list(findings),
    } | others


def write_audit(out: Path, groups, partitions=1, source="segments", problems=()) -> Audit:
    """Write the tables of groups, which are pairs of a summary and rows, and return the audit."""
    summaries = []
    for partition, some in enumerate(groups[place::partitions] for place in range(partitions)):
        summaries += [group for group, _ in some]
        for name in ("generations", "members", "tasks"):
            # As in an audit, rows of groups alternate.
            found = sorted(
                (row for _, rows in some for row in rows[name]),
                key=lambda row: str(
                    row["from_time" if name == "tasks" else "first_time" if name == "members" else "time"]
                ),
            )
            (out / name).mkdir(parents=True, exist_ok=True)
            table = pa.Table.from_pylist(found, schema=TABLES[name].arrow())
            pq.write_table(table, out / name / f"partition-{partition}.parquet")
    return Audit(
        source=source,
        records={"GroupMetadata": 12, "OffsetCommit": 1_000_000},
        rows=dict.fromkeys(TABLES, 0),
        groups=GroupSummaries([group_table(summaries)]),
        problems=tuple(problems),
        first_time=START,
        last_time=max((group["last_time"] for group in summaries), default=START) + 60 * _SECOND,
    )


def estate(number: int):
    """So many groups: rolling bounces, storms, quiet ones, and groups that only commit."""
    groups = []
    for place in range(number):
        name, start = f"{('billing', 'orders', 'fraud', 'search')[place % 4]}-{place:05}", START + place * 977
        match place % 5:
            case 0:
                rows = rolling_bounce(name, 3 + place % 7, start)
                found = [finding(name, "mixed-releases", "notice", "members support metadata versions 6, 11")]
            case 1:
                rows = storm(name, 30 + place % 40, start)
                text = "41 rebalances within ten minutes; the most frequent cause is member-timed-out (20)"
                found = [finding(name, "rebalance-storm", "problem", text)] if place % 100 == 1 else []
            case 2 | 3:
                rows, found = storm(name, 1 + place % 3, start), []
            case _:
                rows, found = {"generations": [], "members": [], "tasks": []}, []
        type_ = ("classic", "classic", "classic", "consumer", "share")[place % 5]
        groups.append((summary(name, rows, found, type=type_), rows))
    return groups
