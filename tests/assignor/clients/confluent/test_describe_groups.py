"""Groups as confluent-kafka describes them; tests/integration/test_group_view.py has real ones."""

from types import SimpleNamespace

import pytest

from assignor.clients.confluent import describe_groups
from assignor.clients.confluent.describe_groups import GroupLookup
from assignor.inspect import NoSuchGroup, finding_text, inspect_group

BROKER = SimpleNamespace(host="a", port=1, id=1)


def described(name, state="Dead"):
    """As ``list_groups`` describes a group; one that is not classic is dead, without a type."""
    return SimpleNamespace(id=name, error=None, state=state, protocol_type="", protocol="", broker=BROKER, members=[])


class Admin:
    def list_consumer_groups(self, **_):
        return SimpleNamespace(result=lambda _: SimpleNamespace(valid=[], errors=[]))

    def list_topics(self, **_):
        return SimpleNamespace(topics={})

    def describe_configs(self, *_, **_seconds):
        raise describe_groups.KafkaException


@pytest.fixture(name="lookup")
def fixture_lookup(monkeypatch):
    """A cluster with one group of KIP-1071."""
    groups = [described("orders")]
    monkeypatch.setattr(GroupLookup, "_admin", lambda _: Admin())
    monkeypatch.setattr(
        describe_groups._private_api,
        "list_groups",
        lambda _, *name, **_seconds: [each for each in groups if not name or each.id in name],
    )
    return GroupLookup("a:1")


def test_a_group_of_a_type_that_it_does_not_show_is_not_dead(lookup):
    """It was "Dead" in `group --all`, and did not exist for `group NAME`."""
    (listed,) = lookup.groups().groups

    assert listed == lookup.group("orders")
    assert ("unknown", "") == (listed.type, listed.state)
    assert [
        "not described: confluent-kafka shows neither type nor members of this group, as of those of type streams "
        "(KIP-1071) and share (KIP-932); kafka-python does"
    ] == [finding_text(each) for each in inspect_group(listed).findings]


def test_a_group_that_no_broker_lists_does_not_exist(lookup):
    with pytest.raises(NoSuchGroup):
        lookup.group("order")
