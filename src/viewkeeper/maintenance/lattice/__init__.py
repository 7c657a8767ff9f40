"""Lattices of summary tables: mumick97 sections 3.2 to 3.4, section 5 and Appendix B.

`recognise` finds cube views in plans, `derives` says which view can be computed from which, `edge` has the
queries along the edges, `build` makes the lattice, `friendly` extends views to fit into it and takes back
what no edge needs, `parents` picks parents by cost, `answer` answers queries, `draw` draws.
"""
