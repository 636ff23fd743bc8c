"""The tables of a sweep: their schema, their rows, and where they are stored without Spark."""
