"""The door: every input is looked at once, here, and is clean below it.

Below the door an array is float32 or float64, C-contiguous, finite and of known shape; a
parameter is inside its bounds; a label is a small integer. Nothing below checks again.
"""

import os
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from manifold_lab._interop import column_types, holds_dates, is_sparse, sk_config
from manifold_lab.errors import DataConversionWarning, MemoryBudgetError, ParameterError, warn

# ------------------------------------------------------------------ parameters


@dataclass(frozen=True)
class Int:
    """An integer from ``low`` to ``high``, both included."""

    low: int | None = None
    high: int | None = None

    def accepts(self, value):
        return (
            isinstance(value, Integral)
            and not isinstance(value, bool | np.bool_)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
        )

    def __str__(self):
        bounds = [
            f"{sign} {bound}"
            for sign, bound in ((">=", self.low), ("<=", self.high))
            if bound is not None
        ]
        return " ".join(["an int", " and ".join(bounds)]).strip()


@dataclass(frozen=True)
class Float:
    """A finite real number between ``low`` and ``high``, the ends excluded unless ``closed``."""

    low: float = -np.inf
    high: float = np.inf
    closed: bool = False

    def accepts(self, value):
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            return False
        if self.closed:
            return self.low <= value <= self.high and np.isfinite(value)
        return self.low < value < self.high and np.isfinite(value)

    def __str__(self):
        return f"a float in {'[' if self.closed else '('}{self.low}, {self.high}{']' if self.closed else ')'}"


@dataclass(frozen=True)
class OneOf:
    """One of a few values, compared by type and equality (so True is not 1)."""

    values: tuple

    def accepts(self, value):
        kind = str if isinstance(value, str) else type(value)  # a grid of strings holds np.str_
        return any(kind is type(v) and value == v for v in self.values)

    def __str__(self):
        return " or ".join(repr(v) for v in self.values)


@dataclass(frozen=True)
class Is:
    """An instance of ``kind``, described as ``text``."""

    kind: type | tuple
    text: str

    def accepts(self, value):
        return isinstance(value, self.kind)

    def __str__(self):
        return self.text


BOOL = Is((bool, np.bool_), "a bool")
SEED = (
    OneOf((None,)),
    Int(0),
    Is((np.random.Generator, np.random.RandomState), "a numpy random generator"),
)
N_JOBS = (OneOf((None,)), Int(1), Int(None, -1))


def parameter_problem(name, value, allowed, owner):
    """Return the sentence that says what is wrong with a parameter, or None if nothing is."""
    if any(rule.accepts(value) for rule in allowed):
        return None
    wanted = ", or ".join(str(rule) for rule in allowed)
    return f"The {name!r} parameter of {owner} must be {wanted}. Got {value!r} instead."


def as_rng(random_state):
    """Return a numpy Generator; None is a fixed seed, so results never vary from run to run."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(0 if random_state is None else random_state)


# ------------------------------------------------------------------ samples


def as_points(
    X, owner, *, name="X", min_samples=1, min_features=1, accept_sparse=False, finite=True
):
    """Return X as a C-contiguous (n, d) float32 or float64 array, or CSR where accepted.

    float32 stays float32, every other real type becomes float64. The input is never written
    to and is copied only where its type or memory order asks for it.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
    owner : str
        Who asks; named in every message.
    name : str
        What the array is called in messages.
    min_samples, min_features : int
    accept_sparse : bool
        Return CSR (sorted, no duplicates) for sparse input instead of refusing it.
    finite : bool
        Check for NaN and infinity here. A method whose first pass over the data finds them
        anyway passes False and calls :func:`raise_not_finite` itself.

    Raises
    ------
    ParameterError
        Wrong rank, too few rows or columns, NaN, infinity, complex numbers, dates, text.
    TypeError
        Sparse input that is not accepted, or objects that are not numbers.
    """
    if is_sparse(X):
        A = _as_csr(X, owner, name, accept_sparse)
    else:
        A = _as_dense(X, owner, name)
    _check_shape(A.shape, owner, name, min_samples, min_features)
    if finite:
        check_finite(A, owner, name)
    return A


def _as_csr(X, owner, name, accept_sparse):
    if not accept_sparse:
        raise TypeError(
            f"{owner} does not accept sparse input. Seen: {name} as {type(X).__name__} of shape "
            f"{X.shape}. Pass {name}.toarray() if it fits in memory."
        )
    if X.dtype.kind == "c":
        raise ParameterError(f"Complex data not supported: {name} has dtype {X.dtype}.")
    if X.ndim != 2:
        raise ParameterError(
            f"Expected a 2-D sparse array for {name}, got {X.ndim}-D. Reshape your data."
        )
    A = X.tocsr()
    dtype = np.float32 if A.dtype == np.float32 else np.float64
    if A.dtype != dtype:
        A = A.astype(dtype)
    if not A.has_canonical_format:
        A = A.copy()  # sum_duplicates works in place, and A may be the caller's
        A.sum_duplicates()
    return A


def _as_dense(X, owner, name):
    if holds_dates(X):  # numpy would count days beside columns of numbers
        _refuse_dates(owner, name)
    A = _from_frame(X)
    if A is None:
        try:
            A = np.asarray(X)
        except ValueError as error:  # rows of unequal length
            raise ParameterError(
                f"{name} is not a table of numbers: {error} {owner} needs rows of equal length."
            ) from error
    _refuse_kind(A.dtype, owner, name)
    if A.dtype.kind == "O":
        A = _from_objects(A, owner, name)
    if A.ndim != 2:
        _refuse_rank(A, owner, name)
    dtype = np.float32 if A.dtype == np.float32 else np.float64
    with np.errstate(over="ignore"):  # a longdouble too large becomes inf and is refused below
        A = np.ascontiguousarray(A, dtype=dtype)
    if isinstance(X, np.ma.MaskedArray) and X.mask.any():
        A = np.where(X.mask, dtype(np.nan), A)  # a masked entry is a missing one
    return A


def _from_frame(X):
    """Return a pandas frame of numbers as floats, NA as NaN; None for everything else.

    numpy would make objects of columns of several types, and of pandas' nullable ones.
    """
    types = column_types(X)
    if not types or any(t.kind not in "biuf" for t in types):
        return None
    if all(t == types[0] and isinstance(t, np.dtype) for t in types):
        return None  # numpy sees it as it is, without a copy
    single = all(t.kind == "f" and getattr(t, "itemsize", 8) == 4 for t in types)
    return X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _refuse_kind(dtype, owner, name):
    if dtype.kind == "c":
        raise ParameterError(f"Complex data not supported: {name} has dtype {dtype}.")
    if dtype.kind in "mM":
        _refuse_dates(owner, name, f" ({dtype})")
    if dtype.kind in "USVT":
        raise ParameterError(
            f"{name} holds text or records (dtype {dtype}), {owner} needs numbers. "
            "Encode or drop those columns, or convert with astype(float)."
        )


def _refuse_dates(owner, name, detail=""):
    raise ParameterError(
        f"{name} holds dates or durations{detail}, {owner} needs numbers. "
        "Convert them first, for example to seconds since a fixed day."
    )


def _from_objects(A, owner, name):
    """Return an array of objects as floats; what numpy would convert amiss is refused."""
    for place, value in np.ndenumerate(A):
        if isinstance(value, complex | np.complexfloating):
            raise ParameterError(f"Complex data not supported: {name} holds complex objects.")
        if isinstance(value, np.datetime64 | np.timedelta64) or any(
            hasattr(value, method) for method in ("isoformat", "total_seconds")
        ):
            _refuse_dates(owner, name)
        if _is_na(value):
            _refuse_value("NaN", place, owner, name)
    try:
        return A.astype(np.float64)
    except (ValueError, OverflowError) as error:  # a TypeError of numpy's says enough
        raise ParameterError(
            f"{name} holds objects that are not numbers: {error}. {owner} needs numbers: "
            "encode or drop those columns."
        ) from error


def _is_na(value):
    return type(value).__name__ == "NAType"  # pandas.NA, which is neither equal nor unequal


def _refuse_rank(A, owner, name):
    if A.ndim == 1:
        raise ParameterError(
            f"Expected 2D array for {name}, got 1D array of shape {A.shape} instead. Reshape your "
            "data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one sample."
        )
    if A.ndim == 0:
        raise ParameterError(
            f"Expected 2D array for {name}, got a scalar. Reshape your data to (n_samples, n_features)."
        )
    raise ParameterError(
        f"Found array with dim {A.ndim} for {name}, {owner} expected 2 (n_samples, n_features). "
        "Reshape your data, for example X.reshape(len(X), -1)."
    )


def _check_shape(shape, owner, name, min_samples, min_features):
    n, d = shape
    if n < min_samples:
        raise ParameterError(
            f"Found array {name} with {n} sample(s) (shape={tuple(shape)}) while a minimum of "
            f"{min_samples} is required by {owner}."
        )
    if d < min_features:
        raise ParameterError(
            f"Found array {name} with {d} feature(s) (shape={tuple(shape)}) while a minimum of "
            f"{min_features} is required."
        )


def check_finite(A, owner, name="X"):
    """Raise if A holds NaN or infinity, naming the first place; honours ``assume_finite``."""
    if sk_config("assume_finite", False):
        return
    values = A.data if is_sparse(A) else A
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()  # one pass without a temporary; overflow is sorted out below
    if not np.isfinite(total):
        raise_not_finite(A, owner, name)


def raise_not_finite(A, owner, name="X"):
    """Raise for the first NaN or infinity in A; return if all of A is finite after all."""
    values = A.data if is_sparse(A) else A.reshape(-1)
    for start in range(0, values.size, 2**20):  # in blocks: A may be most of the memory
        bad = np.flatnonzero(~np.isfinite(values[start : start + 2**20]))
        if bad.size:
            at = start + int(bad[0])
            what = f"infinity or a value too large for dtype('{A.dtype}')"
            _refuse_value("NaN" if np.isnan(values[at]) else what, _place(A, at), owner, name)


def _place(A, at):
    """Return the row and column of the entry stored at position ``at`` of A."""
    if is_sparse(A):
        return int(np.searchsorted(A.indptr, at, side="right")) - 1, int(A.indices[at])
    return divmod(at, A.shape[1])


def _refuse_value(what, place, owner, name):
    where = ", ".join(f"{axis} {at}" for axis, at in zip(("row", "column"), place, strict=False))
    raise ParameterError(
        f"Input {name} contains {what} (first at {where}). {owner} needs finite values: "
        "drop or impute those rows."
    )


def as_labels(y, n_samples, owner):
    """Return ``(classes, codes)`` of a label vector: ``classes[codes]`` equals y.

    Raises
    ------
    ParameterError
        None, wrong length, NaN, more than one column, or real-valued targets.
    """
    if y is None:
        raise ParameterError(
            f"{owner} requires y to be passed, but the target y is None. Pass one label per row."
        )
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        warn(
            DataConversionWarning(
                "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
            )
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ParameterError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != n_samples:
        raise ParameterError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, "
            f"y has {len(y)}. Pass one label per row."
        )
    if y.dtype.kind == "c":
        raise ParameterError("Complex data not supported: y is complex.")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ParameterError("Input y contains NaN or infinity. Drop the rows without a label.")
        if (y != np.floor(y)).any():
            raise ParameterError(
                f"Unknown label type: continuous. {owner} needs class labels, and y holds real "
                "numbers that are not whole. Bin them, or use a regression method."
            )
    if y.dtype.kind == "O" and any(v is None or _is_na(v) or v != v for v in y):
        raise ParameterError("Input y contains NaN or None. Drop the rows without a label.")
    try:
        return np.unique(y, return_inverse=True)
    except TypeError as error:  # such as 1 and "one"
        raise ParameterError(
            f"The labels y cannot be put in order: {error}. Use labels of one type."
        ) from error


# ------------------------------------------------------------------ resources


def check_memory(needed, owner, remedy):
    """Refuse work that cannot fit, before it starts.

    Raises
    ------
    MemoryBudgetError
        ``needed`` bytes are more than 80 % of what this process can still get.
    """
    available = available_memory()
    if needed > 0.8 * available:
        raise MemoryBudgetError(
            f"{owner} would need {needed / 1e9:.1f} GB, {available / 1e9:.1f} GB are available. {remedy}"
        )


def available_memory():
    """Return the bytes this process can still allocate: free RAM, cgroup and address limits."""
    limits = [_meminfo_available(), _cgroup_left(), address_space_left()]
    return min((limit for limit in limits if limit is not None), default=float("inf"))


def _meminfo_available():
    try:
        with open("/proc/meminfo") as lines:
            return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None


def _cgroup_left():
    home = "/sys/fs/cgroup/memory"
    try:
        with open(f"{home}.max") as top, open(f"{home}.current") as now, open(f"{home}.stat") as s:
            limit, used = int(top.read()), int(now.read())  # "max" is a ValueError: no limit
            # the kernel gives cached files back when asked, so they are not in use
            cached = sum(int(x.split()[1]) for x in s if x.startswith(("active_f", "inactive_f")))
        return max(0, limit - used + cached)
    except (OSError, ValueError):
        return None


def address_space_left():
    """Return the bytes left of this process's address space limit, or None without one."""
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm") as text:
            used = int(text.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return max(0, soft - used)
    except (ImportError, OSError, ValueError):
        return None
