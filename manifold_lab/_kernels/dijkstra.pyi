import numpy as np

def slots(n: int, n_slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def advance(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    sources: np.ndarray,
    rows: np.ndarray,
    state: np.ndarray,
    labels: np.ndarray,
    places: np.ndarray,
    budget: int,
    out: np.ndarray,
    n_threads: int,
) -> int: ...
