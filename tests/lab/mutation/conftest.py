"""mutmut is installed in the environment `mutants` only, so these have no examples in docstrings to collect."""

collect_ignore = ["measure.py", "operators.py"]
