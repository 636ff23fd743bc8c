"""The invariants of a member, whatever happens to it."""

from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.streams_group import CallbackKind, StreamsGroupMember, StreamsMemberState
from tests.assignor.streams_group.coordinator import new_member, response, send, tasks

NAMES = ["0_0", "0_1", "0_2"]
ASSIGNMENTS = st.lists(st.sampled_from(NAMES), unique=True)
EVENTS = st.one_of(
    st.tuples(st.just("assign"), ASSIGNMENTS),
    st.tuples(
        st.sampled_from(["heartbeat", "callback", "callback", "fence", "cut", "expire", "not ready"]), st.just([])
    ),
)


def step(member: StreamsGroupMember, event: str, names: list[str], epoch: int) -> StreamsGroupMember:
    match event:
        case "assign":
            return member.on_response(response(epoch, names))
        case "not ready":
            return member.on_response(response(epoch, statuses={3: "why"}))
        case "heartbeat" if member.sends_heartbeats:
            return send(member)[0]
        case "fence":
            return member.on_response(response(error=110))
        case "cut":
            return member.on_disconnect()
        case "expire":
            return member.on_poll_expired()
    return member


def application(owned: frozenset, callback) -> frozenset:
    """The tasks of the application after a callback."""
    match callback.kind:
        case CallbackKind.REVOKE:
            return owned - callback.assignment.active
        case CallbackKind.ASSIGN:
            assert owned <= callback.assignment.active, "tasks are taken before others are revoked"
            return callback.assignment.active
    return frozenset()


@given(st.lists(EVENTS, max_size=30))
def test_the_application_and_the_member_agree_whenever_nothing_is_pending(events):
    member, owned = new_member().subscribe(), frozenset()
    for epoch, (event, names) in enumerate(events, 1):
        if event == "callback" and member.callbacks:
            owned = application(owned, member.callbacks[0])
            member = member.on_callback_completed()
        else:
            member = step(member, event, names, epoch)
        if not member.callbacks and member.state is not StreamsMemberState.LEAVING:
            assert owned == (member.current.active if member.current else frozenset())
        if member.state is StreamsMemberState.STABLE:
            assert member.current == member.target
        assert owned <= tasks(*NAMES)
