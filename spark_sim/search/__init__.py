"""Searches of a model: breadth first as a graph or a tree, path counting, cycles, coverage, sampling and shrinking."""
