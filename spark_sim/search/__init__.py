"""Searches of a model: breadth first as a graph or a tree, path counting, cycles, sampling and shrinking."""
