"""Delta tables read without a JVM: their state, their commits, their rows."""
