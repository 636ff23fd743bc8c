"""Simulated streams groups (KIP-1071): the coordinator's assignment and reconciliation, members and faults.

``scenario`` is the language, ``actions`` what can happen, ``model`` explores every schedule.
"""
