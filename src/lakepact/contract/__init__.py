"""What the user wrote. Pure: no clock, no network, no session."""
