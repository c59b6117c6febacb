"""Spacetime windows: full-body trajectory optimisation by shooting (Al Borno, de Lasa, Hertzmann 2013)."""
