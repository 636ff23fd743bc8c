"""Known bugs of Kafka's rebalance protocol as regression searches: ``known_bugs`` is the table.

``regression_search`` searches for one bug, ``coarse_bfs`` among coarse schedules. ``mutants`` are releases without
a fix.
"""
