"""Long searches hear Ctrl-C, whatever the metric, and leave nothing half-written."""

import sys

import children
import pytest

SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import manifold_lab as ml

metric, d, question = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if metric == "function":
    metric = lambda x, y: float(np.abs(x - y).sum())
n = {"euclidean": 60_000, "manhattan": 30_000}.get(metric, 2_000) if d > 7 else 400_000
X = np.random.default_rng(0).random((n, d))
small = ml.NearestNeighbors(k=3, metric=metric).fit(X[:500])
small.kneighbors(), small.radius_neighbors(eps=0.1)  # all is loaded
model = ml.NearestNeighbors(k=30, metric=metric, n_jobs=2).fit(X)
answer, sent = None, []


def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)


threading.Timer(0.15, interrupt).start()
try:
    answer = model.kneighbors() if question == "k" else model.radius_neighbors(eps=0.02 * d)
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
    print("heard" if late < 0.2 else late)
print(answer is None, small.kneighbors(X[:1])[1][0, 0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to oneself")
@pytest.mark.parametrize(
    ("metric", "d", "question"),
    [
        ("euclidean", 3, "k"),
        ("euclidean", 3, "eps"),
        ("euclidean", 60, "k"),
        ("euclidean", 60, "eps"),
        ("manhattan", 60, "k"),
        ("function", 60, "k"),
    ],
)
def test_interrupt_is_heard_within_a_fifth_of_a_second(metric, d, question):
    for _ in range(3):  # a busy machine may hold the process itself up
        output = children.run(SCRIPT, metric, d, question).split()
        if output == ["heard", "True", "0"]:
            break
    assert output == ["heard", "True", "0"]
