"""Holding our members against real ones: the schedule and the leaders of a capture, replayed.

``capture`` reads a file, ``said`` its messages, ``lives`` says which member is which, and what was started as what,
``surroundings`` what they run. ``player`` is our member in the place of one of them, ``replay`` lets all of them live
through it. ``compare`` has what is compared, ``scene`` and ``verdict`` what came of it; ``cli`` is the command.
"""
