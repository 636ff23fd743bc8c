"""The history of consumer groups, from the records of ``__consumer_offsets``: rebalances, causes, owners, findings.

``log_segment`` reads segments, ``history.PartitionHistory`` turns records into rows, ``tables`` describes the rows.
Pure: no clock, no network, no Spark.
"""
