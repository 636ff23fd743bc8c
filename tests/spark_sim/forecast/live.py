"""Groups that a broker would describe: of a simulation at rest, and of a record of a capture."""

import json
from pathlib import Path

from streams_assignor.groups import DescribedGroup, DescribedGroupMember, inspect_group


def described(name, members, **counts):
    return DescribedGroup(
        name=name,
        state="Stable",
        protocol_type="consumer",
        protocol="stream",
        partition_counts=counts,
        members=tuple(members),
    )


def members_of(simulation):
    group = simulation.coordinator
    by_id = {member.member_id: member for member in simulation.members.values()}
    for member_id, subscription in group.subscriptions.items():
        member = by_id[member_id]
        yield DescribedGroupMember(
            member_id=member_id,
            client_id=client_id(member),
            host=f"/{member.process}.local",
            group_instance_id=member.group_instance_id,
            subscription=subscription,
            assignment=group._assignments[member_id],
        )


def client_id(member):
    """Kafka Streams adds the thread."""
    thread = f"-StreamThread-{member.name.partition('.')[2] or 1}-consumer"
    return f"{member.process}{thread if member.instance.release.kafka_name else ''}"


def seen(simulation):
    return inspect_group(described("app", members_of(simulation)))


def stored(name):
    """The generations of a file in ``groups``, by number."""
    plain = json.loads((Path(__file__).parent / "groups" / f"{name}.json").read_text())
    return {
        each["number"]: inspect_group(described(plain["group"], map(_stored_member, each["members"])))
        for each in plain["generations"]
    }


def _stored_member(plain):
    of_bytes = ("subscription", "assignment")
    return DescribedGroupMember(**{**plain, **{name: bytes.fromhex(plain[name]) for name in of_bytes}})


def recorded(generation):
    return inspect_group(described("app", generation.members))
