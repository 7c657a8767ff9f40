"""Plans over Arrow tables, without Spark: what readers of a warehouse run to merge main and layers."""
