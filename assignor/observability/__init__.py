"""What a member reports: its events, and logs and metrics made of them."""
