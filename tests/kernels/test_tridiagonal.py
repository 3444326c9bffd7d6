"""Householder reduction: A = Q T Q' against NumPy, for every shape that takes a branch of its own."""

import numpy as np
import pytest

from manifold_lab._kernels import levels


@pytest.fixture
def kernel():
    return levels.load("tridiagonal")


def dense(diagonal, off):
    return np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 33, 100])
def test_similar_to_the_matrix(kernel, rng, n):
    A = rng.normal(size=(n, n))
    A += A.T
    kept = A.copy()
    A.setflags(write=False)
    diagonal, off, V, tau = kernel.reduce(A)
    Q = np.eye(n)  # rows are unit vectors: applied, they are the columns of Q
    kernel.apply(V, tau, Q)
    Q = Q.T
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(Q @ dense(diagonal, off) @ Q.T, A, atol=1e-12)
    np.testing.assert_array_equal(A, kept)


@pytest.mark.parametrize("A", [np.zeros((5, 5)), np.eye(4), np.diag([3.0, 1, 2]), np.ones((6, 6))])
def test_degenerate_matrices(kernel, A):
    diagonal, off, V, tau = kernel.reduce(A)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(dense(diagonal, off)), np.linalg.eigvalsh(A), atol=1e-14
    )
    assert np.isfinite(V).all()
    assert np.isfinite(tau).all()


def test_a_tridiagonal_matrix_is_left_alone(kernel):
    A = dense(np.arange(5.0), np.array([1.0, -2, 3, -4]))
    diagonal, off, _, tau = kernel.reduce(A)
    np.testing.assert_array_equal(diagonal, np.arange(5.0))
    np.testing.assert_array_equal(off, [1, -2, 3, -4])
    np.testing.assert_array_equal(tau, 0)
