"""``GroupLookup`` of confluent-kafka, where kafka-python is not installed, and the offsets topic of a live cluster."""
