"""What live tests run in containers: programs that print losses, and experiments."""


def program(loss, busy=0.05, rest=0.15):
    """A program that prints a loss after every step of some seconds of computing and some of rest.

    Parameters
    ----------
    loss
        The loss over `t`, the seconds since it began.
    busy, rest
        How a step's seconds are spent.
    """
    return f"""
import time, math
begin, step = time.time(), 0
while True:
    end = time.time() + {busy}
    while time.time() < end: pass
    time.sleep({rest})
    t, step = time.time() - begin, step + 1
    print(f"step {{step}} loss={{{loss} + 0.1:.6f}}", flush=True)
"""


FAST, SLOW = "math.exp(-t * 2)", "math.exp(-t / 20)"
# a loss that falls fast and then hardly at all, so that FlowCon finds it converged
FALLING = program(FAST)
# one that still learns when the others have converged, or all would keep their limits
LEARNING = program(SLOW)
BUSY = """
import time
while True:
    end = time.time() + 0.05
    while time.time() < end: pass
    time.sleep(0.15)
"""

# matrix factors still learn when the other has converged, so that its limits stand for seconds
FLOWCON = """
version: 1
name: FlowCon, real
engine: docker
workers: {id: node, cores: 1}
kinds:
  Long: {work: 6, program: mlp, steps: 42}
  Short: {work: 5, program: factors, steps: 33}
jobs:
  - {id: long, kind: Long, at: 0}
  - {id: short, kind: Short, at: 2}
policies:
  - {policy: free, label: NA}
  - {policy: flowcon, label: FlowCon, settings: {alpha: 0.15, itval: 2}}
baseline: NA
"""

ALONE = """
version: 1
name: Alone, real
engine: docker
workers: {id: node, cores: 1}
kinds:
  Short: {work: 3, program: mlp, steps: 5}
jobs:
  - {id: short, kind: Short, at: 0}
policies: [free]
"""

SPECON = """
version: 1
name: SpeCon, real
engine: docker
docker: {image: "phasedock-jobs:torch"}
workers: {id: half, count: 2, cores: 1}
kinds:
  GRU: {work: 5, program: gru, steps: 32}
  Short: {work: 3, program: gru, steps: 5}
jobs:
  - {id: first, kind: GRU, at: 0}
  - {id: brief, kind: Short, at: 0}
  - {id: second, kind: GRU, at: 0}
policies:
  - {policy: specon, label: SpeCon, settings: {alpha: 50%, interval: 1}}
seeds: [2]
"""

# each asks for both processors and can run with one: the first gives one back for the second, the third waits
ELASTIC = """
version: 1
name: Elastic, real
engine: docker
workers: {id: node, cores: 2}
kinds:
  Bends: {work: 8, program: mlp, steps: 60, request: 2, min: 1, max: 2}
jobs:
  - {id: first, kind: Bends, at: 0}
  - {id: second, kind: Bends, at: 2}
  - {id: third, kind: Bends, at: 3}
policies:
  - {policy: elastic, label: Elastic, settings: {admission: proportional, reassign: fill}}
seeds: [2]
"""
