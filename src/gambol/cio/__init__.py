"""Contact-invariant optimisation: motion and contacts found together (Mordatch, Todorov, Popović 2012)."""
