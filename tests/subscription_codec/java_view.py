"""Our records in the form of the accessors of Kafka's newest ``SubscriptionInfo`` and ``AssignmentInfo``."""

from streams_assignor.codec import LATEST_OFFSET, OFFSET_UNKNOWN, Subscription


def as_java_shows_it(record):
    """All values of the accessors of Kafka's objects, also those that the version does not have."""
    return subscription(record) if isinstance(record, Subscription) else assignment(record)


def subscription(record):
    running, others = record.prev_tasks, record.standby_tasks
    sums = [(task, offset_sum) for task, offset_sum in record.task_offset_sums]
    if record.version >= 7:
        # The last of a task counts, whether it has an empty name or none.
        kept = {task._replace(topology=task.topology or None): offset_sum for task, offset_sum in sums}
        running = [task for task, offset_sum in kept.items() if offset_sum == LATEST_OFFSET]
        others = [task for task, offset_sum in kept.items() if offset_sum != LATEST_OFFSET]
    else:
        sums = [(task, LATEST_OFFSET) for task in running] + [(task, OFFSET_UNKNOWN) for task in others]
    # Java reads bytes that are not UTF-8 as U+FFFD.
    end_point = record.user_end_point.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return {
        "version": record.version,
        "latestSupported": record.supported_version,
        "processId": str(record.process_id),
        "prevTasks": list(map(listed, running)),
        "standbyTasks": list(map(listed, others)),
        "userEndPoint": end_point or None,
        "taskOffsetSums": [[listed(task), offset_sum] for task, offset_sum in sums],
        "errorCode": record.error_code,
        "clientTags": [list(tag) for tag in record.client_tags],
    }


def assignment(record):
    return {
        "version": record.version,
        "latestSupported": record.supported_version,
        "activeTasks": list(map(listed, record.active_tasks)),
        "standbyTasks": [[listed(task), list(map(list, places))] for task, places in record.standby_tasks],
        "partitionsByHost": hosts_of(record.partitions_by_host),
        "standbyPartitionsByHost": hosts_of(record.standby_partitions_by_host),
        "errCode": record.error_code,
        "nextRebalanceMs": record.next_rebalance_ms,
    }


def hosts_of(hosts):
    return [[list(host), list(map(list, places))] for host, places in hosts]


def listed(task):
    """For Java an empty name is no name."""
    return list(task if task.topology else task[:2])
