"""What the ``bounce`` command does: ``story`` has the facts, ``run`` makes them happen, ``view`` shows them.

``process`` is one member process. Importing this package is cheap; ``run`` brings the client libraries.
"""
