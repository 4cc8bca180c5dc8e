"""Many contracts in order. Pure: is handed a function that runs one."""
