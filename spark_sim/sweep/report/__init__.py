"""Shows results of sweeps and traces of scenarios, in a terminal and as a page for the browser."""
