"""Main and layers as one relation: how rows merge, as data and as plans."""
