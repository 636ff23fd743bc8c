"""Whether the views of groups of any size have the image of a group of a few members."""

from itertools import combinations

from streams_assignor.spark_sim.packed.any_size import AnySize, Shared
from streams_assignor.spark_sim.packed.process_state import STABLE, SYNC_RESPONSE_PENDING, OrphanedId
from streams_assignor.spark_sim.packed.view import PHASE, ROLLED_BACK
from streams_assignor.spark_sim.search.views import close


class Cover:
    """The views of a cell, for groups of an encoding of the cell with some members."""

    def __init__(self, cell, k, encoding):
        self.model = AnySize(cell)
        self.views = close(self.model, k)
        self.encoding = encoding
        self._images = {}

    def covers(self, process_states, group_fields):
        """Whether all views of a group are known, beside one and the same of what they share."""
        processes = [image for number in process_states for image in self._image(number)]
        (initial, *_), *_ = self.model.initial_parts(0)
        kept = PHASE * 3 | ROLLED_BACK
        fields = group_fields & kept | initial.group_fields & ~kept
        bits = 0
        for number in processes:
            bits |= self.model.encoding.subscription_bits[number]
        leaders = [number for number in processes if self.model.leads(number)]
        others = [number for number in processes if number not in leaders] + [self.model.absent] * self.views.k
        shared = Shared(fields, bits, *leaders or [self.model.absent])
        views = set(combinations(sorted(others), self.views.k))
        if group_fields & 3 == STABLE * PHASE:  # what its leader has read is a matter of history
            known = [key for key in self.views.known if key._replace(subscriptions=0) == shared]
        else:
            known = [shared]
        return any(all(self._is_known(key, *view) for view in views) for key in known)

    def _is_known(self, shared, last, *few):
        return self.views.known.get(shared, {}).get(few, 0) >> last & 1

    def _image(self, number):
        if number not in self._images:
            state = self.encoding.process_states.values[number]
            self._images[number] = self.model.split(self.model.encoding.state_number(self._translate(state)))
        return self._images[number]

    def _translate(self, state):
        """The numbers of versions, answers and subscriptions differ between encodings; return those of the model."""
        before, after = self.encoding.protocol_table, self.model.encoding.protocol_table
        version, payload = state.version, state.payload
        if version >= 0:
            version = after.version_states.of(before.version_states.values[version])
        if state.status == SYNC_RESPONSE_PENDING:
            payload = after.answers_sent.of(before.answers_sent.values[payload])
        orphaned_ids = tuple(
            OrphanedId(
                -1
                if orphan.subscription < 0
                else after.member_versions.of(before.member_versions.values[orphan.subscription]),
                orphan.leads,
            )
            for orphan in state.orphaned_ids
        )
        return state._replace(version=version, payload=payload, orphaned_ids=orphaned_ids)
