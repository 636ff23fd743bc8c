"""Rolling bounces simulated with the objects that ship, one by one or by the thousand on Spark."""
