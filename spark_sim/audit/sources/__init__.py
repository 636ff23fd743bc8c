"""Where an audit reads from: copied segments, a dump, brokers, or what ``--follow`` has preserved."""

# mypy: implicit-reexport
from streams_assignor.spark_sim.audit.sources._dump import dump_source
from streams_assignor.spark_sim.audit.sources._files import segments_source
from streams_assignor.spark_sim.audit.sources._source import PartitionSource, Source, SourceError
from streams_assignor.spark_sim.audit.sources.live import live_source
from streams_assignor.spark_sim.audit.sources.preserved import preserved_source
