"""The reports of a member: its events, and logs and metrics made of them."""
