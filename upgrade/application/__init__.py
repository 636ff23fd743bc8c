"""An application beside the releases of Kafka: its configuration and code, looked up in tables from the jars."""
