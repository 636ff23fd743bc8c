"""Published libraries beside Java's linker: what ``plan --app`` reports of each, and what a JVM says of the same."""
