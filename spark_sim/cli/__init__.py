"""``streams-assignor sweep``, ``replay`` and ``report``: what a person types and sees of the simulator, a file each.

Nothing heavy is imported before a command runs, so that ``--help`` comes at once.
"""
