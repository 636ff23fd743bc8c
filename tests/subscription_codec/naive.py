"""A second decoder for all versions, written straight from the layout tables of the protocol's reference.

Slow, without checks, sharing nothing with the real one: its only task is to disagree. Fields in wire order.
"""

import uuid


def subscription(data):
    version, data = number(data)
    fields = {"version": version}
    if version >= 3:
        fields["latestSupported"], data = number(data)
    fields["processId"], data = str(uuid.UUID(bytes=data[:16])), data[16:]
    if version <= 6:
        fields["prevTasks"], data = array(data, task)
        fields["standbyTasks"], data = array(data, task)
        if version >= 2:
            fields["userEndPoint"], data = long_text(data)
    else:
        fields["userEndPoint"], data = long_text(data)
        if version <= 9:
            groups, data = array(data, lambda data: pair(data, number, lambda data: array(data, partition_and_sum)))
            fields["taskOffsetSums"] = [[group, *each] for group, sums in groups for each in sums]
        else:
            fields["taskOffsetSums"], data = array(data, task_and_sum)
    if version >= 8:
        fields["uniqueField"], data = number(data, 1)
    if version >= 9:
        fields["errorCode"], data = number(data)
    if version >= 11:
        fields["clientTags"], data = array(data, lambda data: pair(data, long_text, long_text))
    return fields | ({"trailing": data.hex()} if data else {})


def assignment(data):
    version, data = number(data)
    fields = {"version": version}
    task_id = named_task if version >= 10 else task
    if version >= 3:
        fields["latestSupported"], data = number(data)
    fields["activeTasks"], data = array(data, task_id)
    fields["standbyTasks"], data = array(data, lambda data: pair(data, task_id, lambda data: array(data, place)))
    if 2 <= version <= 4:
        fields["partitionsByHost"], data = array(data, lambda data: pair(data, place, lambda data: array(data, place)))
    if version >= 5:
        fields["topics"], data = array(data, lambda data: pair(data, number, short_text))
        fields["partitionsByHost"], data = indexed_hosts(data, fields["topics"])
    if version >= 6:
        fields["standbyPartitionsByHost"], data = indexed_hosts(data, fields["topics"])
    if version >= 4:
        fields["errCode"], data = number(data)
    if version >= 7:
        fields["nextRebalanceMs"], data = number(data, 8)
    return fields | ({"trailing": data.hex()} if data else {})


def number(data, size=4):
    value = 0
    for byte in data[:size]:
        value = value * 256 + byte
    return value - (256**size if data[0] >= 128 else 0), data[size:]


def array(data, read):
    count, data = number(data)
    items = []
    for _ in range(count):
        item, data = read(data)
        items.append(item)
    return items, data


def pair(data, first, second):
    one, data = first(data)
    two, data = second(data)
    return [one, two], data


def task(data):
    return pair(data, number, number)


def named_task(data):
    numbers, data = task(data)
    size, data = number(data)
    name, data = data[: 2 * size].decode("utf-16-be", "surrogatepass"), data[2 * size :]
    return [*numbers, name] if name else numbers, data


def partition_and_sum(data):
    return pair(data, number, lambda data: number(data, 8))


def task_and_sum(data):
    numbers, data = task(data)
    offset_sum, data = number(data, 8)
    size, data = number(data, 2)
    if size == -1:
        return [*numbers, offset_sum], data
    return [*numbers, data[:size].decode("utf-8", "surrogateescape"), offset_sum], data[size:]


def place(data):
    return pair(data, short_text, number)


def indexed_hosts(data, topics):
    names = {index: topic for index, topic in topics}  # noqa: C416 - a pair is a list here
    hosts, data = array(data, lambda data: pair(data, place, lambda data: array(data, task)))
    return [[host, [[names.get(index), partition] for index, partition in places]] for host, places in hosts], data


def long_text(data):
    size, data = number(data)
    return data[:size].decode("utf-8", "surrogateescape"), data[size:]


def short_text(data):
    size, data = data[0] * 256 + data[1], data[2:]
    units = []
    rest = list(data[:size])
    while rest:
        first = rest.pop(0)
        if first < 0x80:
            units.append(first)
        elif first < 0xE0:
            units.append((first & 31) * 64 + (rest.pop(0) & 63))
        else:
            units.append(((first & 15) * 64 + (rest.pop(0) & 63)) * 64 + (rest.pop(0) & 63))
    return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be", "surrogatepass"), data[size:]
