"""The member of a streams group (KIP-1071) behind a ``StreamsConsumer``, beside that of a classic group."""
