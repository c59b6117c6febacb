"""Benchmarks of contact-invariant optimisation."""
