"""The published experiments of partwise MPC, with its figures beside ours (Khoshsiyar et al. 2024)."""
