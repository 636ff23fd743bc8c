"""Records of groups whose broker assigns, for tests of an audit."""

from tests.assignor.groups.history.segments import NOW, record

GROUP = {"groupId": "app"}
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def key(member):
    return {**GROUP, "memberId": member}


def tasks(text):
    """``0_1`` and so on, as records have them."""
    pairs = [task.split("_") for task in text.split()]
    names = dict.fromkeys(name for name, _ in pairs)
    return [{"subtopologyId": name, "partitions": [int(it) for of, it in pairs if of == name]} for name in names]


def streams_member(name, at=0, **facts):
    usual = {
        "instanceId": None,
        "rackId": None,
        "clientId": f"c-{name}",
        "clientHost": "h",
        "rebalanceTimeoutMs": 300_000,
        "topologyEpoch": 0,
        "processId": f"p-{name}",
        "userEndpoint": None,
        "clientTags": [],
    }
    return record(19, key(name), {**usual, **facts}, NOW + at)


def streams_epoch(number, at=0, *, validated=0, settings=None, **facts):
    configs = [{"key": name, "value": value} for name, value in (settings or {}).items()]
    value = {
        "epoch": number,
        "metadataHash": 5,
        "validatedTopologyEpoch": validated,
        "lastAssignmentConfigs": configs if settings is not None else None,
        **facts,
    }
    return record(17, GROUP, value, NOW + at)


def target(name, active, at=0, standby=""):
    value = {"activeTasks": tasks(active), "standbyTasks": tasks(standby), "warmupTasks": []}
    return record(21, key(name), value, NOW + at)


def targets(epoch, at=0, **active):
    """The target assignment of an epoch."""
    metadata = {"assignmentEpoch": epoch, "assignmentTimestamp": NOW + at}
    return (*(target(name, text, at) for name, text in active.items()), record(20, GROUP, metadata, NOW + at))


def current(name, epoch, active="", at=0, *, standby="", warm_up="", revoking=""):
    """The tasks of a member when it has confirmed something."""
    nothing = {f"{role}TasksPendingRevocation": [] for role in ("standby", "warmup")}
    value = {
        "memberEpoch": epoch,
        "previousMemberEpoch": epoch - 1,
        "state": 1,
        "activeTasks": tasks(active),
        "standbyTasks": tasks(standby),
        "warmupTasks": tasks(warm_up),
        "activeTasksPendingRevocation": tasks(revoking),
        **nothing,
    }
    return record(22, key(name), value, NOW + at)


def gone(name, at=0, kinds=(22, 21, 19)):
    return [record(number, key(name), None, NOW + at) for number in kinds]


def topology(epoch=0, changelogs=("app-store-changelog",), at=0):
    subtopology = {
        "subtopologyId": "0",
        "sourceTopics": ["orders"],
        "sourceTopicRegex": [],
        "repartitionSourceTopics": [],
        "stateChangelogTopics": [
            {"name": name, "partitions": 0, "replicationFactor": 0, "topicConfigs": []} for name in changelogs
        ],
        "repartitionSinkTopics": [],
        "copartitionGroups": [],
    }
    return record(23, GROUP, {"epoch": epoch, "subtopologies": [subtopology]}, NOW + at)


ALONE = (streams_member("A"), streams_epoch(1), *targets(1, A="0_0 0_1"), current("A", 1, "0_0 0_1"))
"""A member with two tasks."""
JOINED = (streams_member("B", 60_000), streams_epoch(2, 60_000), *targets(2, 60_000, A="0_0", B="0_1"))
"""Another one joins, and is to get one of them."""
