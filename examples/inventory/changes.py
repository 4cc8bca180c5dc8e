"""What changed in silver.products, and silver.movements as a stream: TableReader, in a few lines."""

from __future__ import annotations

from lakepact import TableReader

products = TableReader("contracts/silver_products.yaml")
changes = products.read_cdf().orderBy("_commit_version", "sku", "_change_type")
for row in changes.where("_change_type <> 'insert'").collect():
    print(row["_commit_version"], row["_change_type"], row["sku"], row["price"])

movements = TableReader("contracts/silver_movements.yaml").read_stream()
stream = movements.writeStream.format("memory").queryName("moved").trigger(availableNow=True).start()
stream.awaitTermination()
moved = products.spark.table("moved").groupBy("store").sum("quantity").orderBy("store")
for row in moved.collect():
    print("moved", row["store"], row["sum(quantity)"])
