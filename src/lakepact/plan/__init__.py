"""What will be done: a contract and the state of the world in, SQL out. Pure."""
