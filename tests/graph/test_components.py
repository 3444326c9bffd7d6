"""Components, forests and closed classes against scipy and small cases worked by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from manifold_lab.graph import components as parts
from manifold_lab.graph.components import closed_classes, tree_edges, weak_components


def random_graph(seed, n=60, density=0.012):
    return csr_array(random_array((n, n), density=density, format="csr", rng=seed))


@pytest.mark.parametrize("seed", range(8))
def test_components_are_those_of_scipy_numbered_by_their_first_vertex(seed, monkeypatch):
    A = random_graph(seed)
    monkeypatch.setattr(parts, "_EDGES", 7)  # several blocks, and rows with more edges than one
    labels, sizes = weak_components(A.indptr, A.indices)
    count, expected = connected_components(A, directed=True, connection="weak")
    assert len(sizes) == count
    assert len(set(zip(labels, expected, strict=True))) == count
    np.testing.assert_array_equal(sizes, np.bincount(labels))
    assert np.unique(labels, return_index=True)[1].tolist() == sorted(
        np.unique(labels, return_index=True)[1].tolist()
    )


def test_a_long_path_given_backwards_is_one_component():
    n = 20_000
    indptr = np.minimum(np.arange(n + 1), n - 1)
    labels, sizes = weak_components(indptr, np.arange(n - 1, 0, -1))
    assert sizes[0] == np.count_nonzero(labels == 0)
    chain = weak_components(np.append(0, np.arange(n)), np.arange(n - 1))  # i -> i - 1
    assert chain.sizes.tolist() == [n]


def test_the_tree_of_sorted_edges_is_the_minimum_spanning_tree(rng):
    A = random_array((40, 40), density=0.2, format="coo", rng=rng)
    lengths = A.data + 0.1
    kept = tree_edges(40, A.row, A.col, np.argsort(lengths))
    expected = minimum_spanning_tree(csr_array((lengths, (A.row, A.col)), shape=(40, 40)))
    assert len(kept) == 39
    assert np.isclose(lengths[kept].sum(), expected.sum())
    assert (np.diff(lengths[kept]) >= 0).all()


def test_edges_of_length_zero_are_in_the_tree():
    u, v = np.array([0, 0, 1]), np.array([1, 2, 2])
    assert tree_edges(3, u, v, np.argsort([0.0, 0.0, 0.0], kind="stable")).tolist() == [0, 1]


# ------------------------------------------------------------------ closed classes


def reaches(A):
    reach = (A.toarray() != 0) | np.eye(A.shape[0], dtype=bool)
    for k in range(len(reach)):
        reach |= np.outer(reach[:, k], reach[k])
    return reach


@pytest.mark.parametrize("seed", range(8))
def test_closed_classes_against_reachability(seed):
    A = random_graph(seed, n=30, density=0.05)
    reach = reaches(A)
    labels, sizes = closed_classes(A.indptr, A.indices)
    for i in range(30):
        closed = (reach[:, i] | ~reach[i]).all()  # whoever i reaches, reaches i
        assert (labels[i] >= 0) == closed
        if closed:
            np.testing.assert_array_equal(labels == labels[i], reach[i])
    np.testing.assert_array_equal(sizes, np.bincount(labels[labels >= 0]))
    firsts = [int(np.flatnonzero(labels == c)[0]) for c in range(len(sizes))]
    assert firsts == sorted(firsts)


def test_a_vertex_without_edges_is_a_class_and_zeros_do_not_matter():
    labels, sizes = closed_classes(np.array([0, 1, 1, 2]), np.array([1, 1]))  # 0 -> 1 <- 2
    assert labels.tolist() == [-1, 0, -1]
    assert sizes.tolist() == [1]
