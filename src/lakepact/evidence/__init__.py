"""What happened: immutable records, append-only stores."""
