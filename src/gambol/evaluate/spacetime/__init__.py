"""What the search of spacetime windows costs, and what its parts are worth (Al Borno et al. 2013)."""
