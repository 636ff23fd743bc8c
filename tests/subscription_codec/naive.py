"""A second decoder for versions 1 to 3, written straight from the grammar in KIP-268 (as corrected by the wire).

Slow, without checks, sharing nothing with the real one: its only task is to disagree.
"""

import uuid


def subscription(data):
    version, data = number(data)
    fields = {"version": version}
    if version >= 3:
        fields["latestSupported"], data = number(data)
    fields["processId"], data = str(uuid.UUID(bytes=data[:16])), data[16:]
    fields["prevTasks"], data = array(data, task)
    fields["standbyTasks"], data = array(data, task)
    if version >= 2:
        size, data = number(data)
        fields["userEndPoint"], data = data[:size].decode("utf-8", "surrogateescape"), data[size:]
    return fields | ({"trailing": data.hex()} if data else {})


def assignment(data):
    version, data = number(data)
    fields = {"version": version}
    if version >= 3:
        fields["latestSupported"], data = number(data)
    fields["activeTasks"], data = array(data, task)
    fields["standbyTasks"], data = array(data, lambda data: pair(data, task, lambda data: array(data, partition)))
    if version >= 2:
        fields["partitionsByHost"], data = array(
            data, lambda data: pair(data, partition, lambda data: array(data, partition))
        )
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


def partition(data):
    return pair(data, text, number)


def text(data):
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
