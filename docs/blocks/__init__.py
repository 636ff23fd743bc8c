"""Tables and diagrams that stand in the pages but come from the code, a file for each part of it."""
