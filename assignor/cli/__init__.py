"""The command line ``streams-assignor``: ``commands`` is the table of commands, ``main`` the console script.

It is the top layer, above the simulator. Only ``sweep`` on Spark needs PySpark.
"""
