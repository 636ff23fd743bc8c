"""``GroupLookup`` of kafka-python, which sends the requests of Kafka's own tools."""

from streams_assignor.upgrade.extras import require

require("kafka")
