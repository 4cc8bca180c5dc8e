"""The only room with pyspark. It does what a Plan says and decides nothing."""
