"""Sampling-based predictive control on contact keyframes."""
