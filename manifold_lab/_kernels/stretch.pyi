import numpy as np

def detours(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    sources: np.ndarray,
    first: np.ndarray,
    targets: np.ndarray,
    limits: np.ndarray,
    around: bool,
    n_threads: int,
) -> np.ndarray: ...
