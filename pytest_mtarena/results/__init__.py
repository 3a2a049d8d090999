"""What can be done with stored cards: verify, merge, show."""
