"""The command ``streams-assignor features``: Kafka's feature tool without Java."""
