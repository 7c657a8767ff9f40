"""One strategy per algorithm; each answers the same three pure questions."""
