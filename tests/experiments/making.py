"""Small experiments for tests."""

from core.experiments.spec_reader import read_experiment

THREE = """\
version: 1
name: Three jobs
workers: {count: 1, cores: 1}
world: {noise: 0}
kinds:
  VAE: {work: 217.3}
  MNIST-P: {work: 148.5}
  MNIST-T: {work: 28.2}
jobs:
  - {id: VAE, kind: VAE, at: 0}
  - {id: MNIST-P, kind: MNIST-P, at: 40 s}
  - {id: MNIST-T, kind: MNIST-T, at: 80}
policies:
  - {policy: free, label: NA}
  - {policy: flowcon, label: FlowCon, settings: {alpha: 5%, itval: 0.5 min}}
"""

RANDOM = """\
version: 1
name: Some jobs on two workers
workers: {id: node, count: 2, cores: 4 cores}
world: {gamma: 0.02, noise: 0.003, size_error: 0.05}
kinds:
  VAE: {work: [100, 400], demand: [1, 4], like: VAE}
  GRU: {work: [50, 100], like: GRU, weight: 2, checkpoint: [1, 2], restore: [1, 3]}
drawn: {count: 6}
arrivals: {by: uniform, within: 100}
policies: [fewest, specon]
seeds: {count: 3, first: 5}
"""


def three():
    """The thesis' three jobs."""
    return read_experiment(THREE)


def some(text=RANDOM):
    """A few random jobs on two workers."""
    return read_experiment(text)
