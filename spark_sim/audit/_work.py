"""The units of an audit: partitions, and the buckets of those that are cut, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from uuid import uuid4

from attrs import define, field, frozen

from streams_assignor.spark_sim.audit.cut_partition import (
    BucketUnit,
    ReadPiece,
    ReduceBucket,
    bucket_name,
    buckets_of,
    is_exact,
)
from streams_assignor.spark_sim.audit.finished_units import FinishedUnits, unit_key
from streams_assignor.spark_sim.audit.partition_audit import (
    BOUNCES,
    GROUPS,
    AuditFilter,
    AuditUnit,
    PartitionSummary,
    read_summary,
)
from streams_assignor.spark_sim.audit.sources import PartitionSource, Source
from streams_assignor.spark_sim.conformance.bounces import Bounce
from streams_assignor.spark_sim.jobs.engine import WorkEngine, WorkProgress


@frozen
class _Part:
    """A partition, with the keys of its units."""

    source: PartitionSource
    key: str
    buckets: tuple[str, ...] = ()
    """The keys of its buckets; () if it is not cut."""

    @property
    def steps(self) -> int:
        """The amount of work, as the progress counts it."""
        return len(self.source.pieces) + len(self.buckets) if self.buckets else 1


@define
class AuditWork:
    """The units of an audit."""

    source: Source
    kept: AuditFilter
    engine: WorkEngine
    units: FinishedUnits
    scratch: Path
    on_progress: Callable[[WorkProgress], None]
    _parts: list[_Part] = field(init=False)
    _total: int = field(init=False)
    _done: int = 0

    def __attrs_post_init__(self) -> None:
        self._parts = [self._part(partition) for partition in self.source.partitions]
        self._total = sum(part.steps for part in self._parts)

    def _part(self, source: PartitionSource) -> _Part:
        inputs = source.inputs
        given = (uuid4().hex if inputs is None else inputs, self.kept, self.source.unverified)
        seconds = source.size / self.source.sizes_per_second
        count = 1 if source.partition is None else buckets_of(seconds, self.source.core_seconds, len(source.pieces))
        whole = unit_key(source.name, *given)
        if source.partition is None or count == 1:
            return _Part(source, whole)
        names = (bucket_name(source.partition, key) for key in range(count))
        return _Part(source, whole, tuple(unit_key(name, count, *given) for name in names))

    @property
    def keys(self) -> list[str]:
        """The keys of all units, as far as they are known."""
        return [key for part in self._parts for key in part.buckets or (part.key,)]

    def summaries(self) -> dict[str, PartitionSummary]:
        """Compute what is not finished; return the summaries by the keys of their units, in the order of the parts."""
        cut: dict[int, dict[str, PartitionSummary]] = {}
        for place, part in enumerate(self._parts):
            if part.buckets and part.key in self.units:  # it was not exact
                self._done += part.steps - 1
            elif part.buckets:
                self._compute_buckets(part)
                found = self._read(part.buckets)
                if is_exact([*found.values()]):
                    cut[place] = found
                else:
                    self._total += 1
        whole = [part for place, part in enumerate(self._parts) if place not in cut]
        pending = {part.key: part.source for part in whole}
        self._done += sum(key in self.units for key in pending)
        self.units.finish(
            self.engine, AuditUnit(self.kept), pending, attrgetter("size"), self.scratch, self._report_last
        )
        found_whole = self._read([*pending])
        summaries: dict[str, PartitionSummary] = {}
        for place, part in enumerate(self._parts):
            summaries |= cut.get(place) or {part.key: found_whole[part.key]}
        return summaries

    def _compute_buckets(self, part: _Part) -> None:
        pending = {key: unit for key, unit in enumerate(part.buckets) if unit not in self.units}
        if pending:
            number = part.source.partition
            assert number is not None
            mapper = ReadPiece(self.kept, len(part.buckets), tuple(pending))
            reducer = ReduceBucket(self.units.maker(self.engine, BucketUnit(self.kept), self.scratch), number, pending)
            results = self.engine.map_reduce(mapper, reducer, part.source.pieces, [*pending], self._report)
            for _, made in results:
                self.units.commit(made)
        self._done += part.steps

    def _report(self, progress: WorkProgress) -> None:
        self.on_progress(WorkProgress(self._total, self._done + progress.committed_units, None))

    def _report_last(self, progress: WorkProgress) -> None:
        done = self._done + progress.committed_units
        self.on_progress(WorkProgress(self._total, done, progress.seconds_left))

    def more(self, units: int) -> Callable[[WorkProgress], None]:
        """Return what takes the progress of further units."""
        self._done, self._total = self._total, self._total + units
        return self._report_last

    def _read(self, keys: Sequence[str]) -> dict[str, PartitionSummary]:
        groups: dict[str, list[bytes]] = {}
        for key, _, content in self.units.files(keys, GROUPS.__eq__):
            groups.setdefault(key, []).append(content)
        results = zip(keys, self.units.results(keys), strict=True)
        return {
            key: read_summary(values, b"".join(groups.get(key, ())), self._bounces_of(key)) for key, values in results
        }

    def _bounces_of(self, key: str) -> Path:
        return self.scratch / f"{BOUNCES}-{key}"

    def bounces(self, summaries: Mapping[str, PartitionSummary]) -> dict[str, Bounce]:
        """Return the rolling bounces by the keys of their units; their generations are in scratch files."""
        for key, _, content in self.units.files(summaries, BOUNCES.__eq__):
            with self._bounces_of(key).open("ab") as file:
                file.write(content)
        return dict(self._keyed_bounces(summaries))

    @staticmethod
    def _keyed_bounces(summaries: Mapping[str, PartitionSummary]) -> Iterator[tuple[str, Bounce]]:
        for key, summary in summaries.items():
            for number, bounce in enumerate(summary.bounces):
                yield unit_key(f"bounce-{number}", key), bounce
