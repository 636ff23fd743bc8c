"""The packed search and its path counting, compiled by numba (extra ``fast``); the results are equal."""
