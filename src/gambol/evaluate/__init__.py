"""Benchmark protocols and their tables. Nothing that a method needs lives here."""

from __future__ import annotations

from gambol.evaluate.benchmark import Benchmark, Findings, Request, Table
from gambol.evaluate.cio.behaviours import behaviours
from gambol.evaluate.cio.continuation import continuation
from gambol.evaluate.partwise.baseline import baseline
from gambol.evaluate.partwise.generalise import generalise
from gambol.evaluate.partwise.share import share
from gambol.evaluate.partwise.table2 import table2
from gambol.evaluate.planning import planning
from gambol.evaluate.spacetime.ablation import ablation
from gambol.evaluate.spacetime.search import search
from gambol.evaluate.spacetime.survival import survivals
from gambol.evaluate.trials import trials

BENCHMARKS: dict[str, Benchmark] = {
    "planning": Benchmark("what a plan costs beside its bare rollouts", planning, trials=50),
    "trials": Benchmark("how often each shipped task succeeds, and how long its motion is", trials, trials=5),
    "partwise-table2": Benchmark("partwise MPC, Table 2: success and duration of seven skills", table2, trials=100),
    "partwise-baseline": Benchmark("partwise MPC, Figures 9 and 12: against plain sampling", baseline, trials=50),
    "partwise-share": Benchmark("partwise MPC, Figure 10: plans won by recombined candidates", share, trials=50),
    "partwise-generalise": Benchmark("partwise MPC, Table 3: other furniture, other bodies", generalise, trials=20),
    "spacetime-search": Benchmark("spacetime windows: how soon a search is as good as the published one", search, 1),
    "spacetime-ablation": Benchmark("spacetime windows: without symmetry, without look-ahead", ablation, trials=3),
    "spacetime-survival": Benchmark("spacetime windows: shipped motions with a heavier body", survivals, trials=3),
    "cio-behaviours": Benchmark("contact-invariant optimisation: costs, contacts, time", behaviours, trials=1),
    "cio-continuation": Benchmark("contact-invariant optimisation: without its first stages", continuation, trials=20),
}
"""Every benchmark by name."""

__all__ = ["BENCHMARKS", "Benchmark", "Findings", "Request", "Table"]
