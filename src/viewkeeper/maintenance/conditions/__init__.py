"""Conditions as blakeley86 section 4 reads them: domains, atomic formulae, graphs, and their origin."""
