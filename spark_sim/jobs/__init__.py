"""Jobs: where the work of a command runs, with which code and libraries, and the tables that it fills."""
