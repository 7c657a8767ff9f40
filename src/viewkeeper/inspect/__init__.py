"""Looking at a warehouse: status, history, lattices, and whether its views are right."""
