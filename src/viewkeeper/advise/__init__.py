"""Which summaries a warehouse should store: lattices of mumick97 sections 3 to 5, and the greedy choice over
them of Harinarayan, Rajaraman and Ullman (1996).

`workload` has the queries, `candidates` the views that could answer them, `groups` how large these are and
what it takes to keep them fresh, `greedy` chooses, `advice` tells, `advisor` puts it together for a
warehouse.
"""
