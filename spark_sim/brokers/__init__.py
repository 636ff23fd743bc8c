"""Upgrades of the brokers themselves, simulated: rolls, finalised levels, faults and races, and a group that watches.

Read ``scenario`` for the language, ``world`` for what drives ``upgrade.features`` (there is no second model),
``properties`` for what must hold, ``plans`` and ``search`` for every way that an upgrade can go.
"""
