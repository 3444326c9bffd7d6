"""
Short circuits: neighbours that are not
=======================================

The distance along a surface is found by going from neighbour to neighbour. With too few neighbours
the graph falls into pieces; with too many, some of them are on the next winding of the roll, and
every path takes the shortcut. The diagnosis finds both without knowing the surface.
"""

import matplotlib.pyplot as plt
import numpy as np

import manifold_lab as ml
from manifold_lab.graph import NeighborGraph, neighbor_graph

X, T = ml.datasets.swiss_roll(n_samples=400, random_state=5)

# %%
# **Looked at from the side.** Sixteen neighbours reach across the gap between two windings. Five
# connect the roll, and yet one edge is wrong: at its end, a sample has few others near. Suspected
# edges are red.

side = X[:, [0, 2]]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
for axis, k in zip(axes, (5, 16), strict=True):
    diagnosis = neighbor_graph(X, k=k).diagnose()
    diagnosis.plot(axis, coordinates=side)
    axis.set_title(f"k = {k}: {len(diagnosis.suspects)} suspected edges")
    axis.set_axis_off()

# %%
# **What the report says.** The score is how many times as long as an edge the way around it is; the
# effect is by how much distances in the graph shrink, on average, because of the group.

print(diagnosis)

# %%
# **What they do to distances.** The roll is isometric to a rectangle, so true distances along it are
# known. A single wrong edge makes many of them too short; without it, they are right.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
true = np.linalg.norm(T[:, None] - T, axis=-1)
five = neighbor_graph(X, k=5)
A = five.to_csr().tolil()
for i, j in five.diagnose().suspects:
    A[i, j] = A[j, i] = 0  # a list of lists forgets what is zero
mended = NeighborGraph.from_csr(A.tocsr())
for axis, graph, title in (
    (axes[0], neighbor_graph(X, k=16), "k = 16"),
    (axes[1], five, "k = 5"),
    (axes[2], mended, "k = 5, without the suspect"),
):
    D = graph.shortest_paths()
    axis.plot(true[::7, ::7].ravel(), D[::7, ::7].ravel(), ".", markersize=2)
    axis.plot([0, 90], [0, 90], color="black", linewidth=0.8)
    axis.set(xlabel="along the surface", title=title)
axes[0].set_ylabel("along the graph")
plt.show()
