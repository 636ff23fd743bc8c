"""The rebalance protocol of one group: bytes in, bytes out, without input or output of its own.

``member`` encodes subscriptions and applies assignments; ``leader`` turns the subscriptions of all members into
assignments. The other modules are its steps.
"""
