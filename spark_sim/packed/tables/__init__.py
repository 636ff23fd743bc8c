"""Numbers for the answers, reactions and transitions of processes, computed once by the objects of the protocol."""
