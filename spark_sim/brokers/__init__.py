"""Model of broker upgrades: rolling restarts, finalized levels, faults and races, and a Streams group that watches.

``scenario`` and ``parser`` define the scenario language. ``cluster_state`` wraps the model of
``upgrade.cluster.features`` with processes, disks and faults; ``actions`` and ``settle`` change it, ``properties``
checks it. ``plans`` and ``operator_program`` define what an operator does, and ``model`` explores every schedule of a
plan.
"""
