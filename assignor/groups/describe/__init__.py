"""Groups of a live cluster as raw bytes, through each client library: one ``GroupLookup`` a library.

This package alone of ``groups`` talks to brokers, so it lies above the adapters, whose connections it uses.
"""
