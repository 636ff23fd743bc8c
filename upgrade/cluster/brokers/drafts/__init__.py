"""Models of two proposals that no Kafka release has: KIP-584's phases and the draft persistent.metadata.version."""
