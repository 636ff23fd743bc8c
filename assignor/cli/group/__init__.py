"""The command ``group``: options and looks, waits, the tables of the terminal and the other outputs."""
