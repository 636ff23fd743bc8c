"""Upgrades of the brokers themselves: which versions they are told to speak, one roll at a time, and the way back.

Read ``versions`` for the values that Kafka's configurations take, ``config`` for what a broker refuses at start-up,
``cluster`` for a cluster in the middle of a roll, ``persistent`` and ``ibp_feature`` for two drafts of a better way
(persistent.metadata.version, KIP-584), and ``plan`` for the advice.
"""
