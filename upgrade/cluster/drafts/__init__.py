"""Statements of proposals as code, which no command uses and tests prove.

KIP-584's ZooKeeper nodes and phases, the draft of persistent.metadata.version, and a roll of brokers beside them.
"""
