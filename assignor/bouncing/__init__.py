"""The ``bounce`` command but for its command line: ``story`` has the facts, ``run`` makes them happen, ``view`` shows them.

``process`` is one member process. Importing this package is cheap; ``run`` brings the client libraries.
"""
