"""A simulated consumer group of Kafka Streams members: its state, its actions, and the properties of a run."""
