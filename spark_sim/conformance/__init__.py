"""Conformance: replays captures of real groups with simulated members and compares the messages.

``capture`` reads a file and ``messages`` decodes it. ``identity`` finds out which records are the same member and which
release it runs; ``step_inference`` infers releases that a capture does not give, ``environment`` the topology and the
topics. ``twin`` is the simulated member in the place of a captured one, ``replay`` runs the group, ``failures`` finds
members that fail. ``compare`` lists the compared facts, ``result`` and ``verdict`` the outcome. ``bounces`` finds the
rolling bounces of a history, and ``excerpt`` judges one of them without the start of the group.
"""
