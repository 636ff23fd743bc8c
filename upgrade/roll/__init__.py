"""A rolling upgrade as it is executed: what comes next, whether a step went well, and what to do if it did not.

It is pure, without files, processes or a clock. A driver looks at the cluster, asks ``decide`` what is next, does it,
and writes down what happened; the same objects run against a simulated group.
"""
