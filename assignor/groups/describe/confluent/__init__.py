"""The offsets topic of a live cluster, read with confluent-kafka."""
