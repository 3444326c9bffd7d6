"""The door: what is let in, as what, and how the rest is turned away."""

import datetime as dt
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse

from manifold_lab import checks
from manifold_lab.checks import (
    BOOL,
    N_JOBS,
    SEED,
    Float,
    Int,
    Is,
    OneOf,
    as_labels,
    as_points,
    as_rng,
    check_finite,
    check_memory,
    parameter_problem,
    raise_not_finite,
)
from manifold_lab.errors import DataConversionWarning, MemoryBudgetError, ParameterError

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

# ------------------------------------------------------------------ rules of parameters


@pytest.mark.parametrize(
    ("rule", "good", "bad", "text"),
    [
        (Int(1), [1, 7, np.int64(3)], [0, 1.0, True, np.True_, "1", None, np.nan], "an int >= 1"),
        (Int(1, 3), [1, 3], [0, 4], "an int >= 1 and <= 3"),
        (Int(None, -1), [-1, -5], [0], "an int <= -1"),
        (Int(), [-7, 0, 7], [0.5], "an int"),
        (
            Float(0, 1),
            [0.5, np.float32(0.1)],
            [0, 1, 0.0, 1.0, np.nan, np.inf, True, "0.5", None, 1j],
            "a float in (0, 1)",
        ),
        (Float(0, 1, closed=True), [0, 1, 0.5], [-1e-9, 1.1], "a float in [0, 1]"),
        (Float(), [-1e300, 0], [np.inf, -np.inf, np.nan], "a float in (-inf, inf)"),
        (OneOf((None,)), [None], [0, False, "None"], "None"),
        (
            OneOf(("a", 1)),
            ["a", np.str_("a"), 1],
            ["b", True, 1.0, np.array(["a"]), ["a"]],
            "'a' or 1",
        ),
        (BOOL, [True, False, np.True_], [0, 1, None, "True"], "a bool"),
        (Is(dict, "a mapping"), [{}], [[]], "a mapping"),
    ],
    ids=str,
)
def test_a_rule_accepts_and_describes(rule, good, bad, text):
    assert [value for value in good if not rule.accepts(value)] == []
    assert [value for value in bad if rule.accepts(value)] == []
    assert str(rule) == text


@pytest.mark.parametrize("value", [None, 0, 3, np.random.default_rng(), np.random.RandomState(0)])
def test_a_seed_may_be(value):
    assert parameter_problem("random_state", value, SEED, "PCA") is None


@pytest.mark.parametrize("value", [-1, 1.5, "a", np.random])
def test_a_seed_may_not_be(value):
    assert "'random_state' parameter of PCA must be" in parameter_problem(
        "random_state", value, SEED, "PCA"
    )


def test_n_jobs():
    assert [parameter_problem("n_jobs", v, N_JOBS, "PCA") for v in (None, 1, 8, -1, -2)] == [
        None
    ] * 5
    assert parameter_problem("n_jobs", 0, N_JOBS, "PCA") == (
        "The 'n_jobs' parameter of PCA must be None, or an int >= 1, or an int <= -1. "
        "Got 0 instead."
    )


def test_as_rng():
    def draw(seed):
        return as_rng(seed).integers(2**60)

    assert draw(None) == draw(None) == draw(0)
    assert draw(1) != draw(2)
    generator = np.random.default_rng(3)
    assert as_rng(generator) is generator
    assert draw(np.random.RandomState(4)) == draw(np.random.RandomState(4))
    assert draw(np.random.RandomState(4)) != draw(np.random.RandomState(5))


# ------------------------------------------------------------------ points: what is let in

READ_ONLY = X.copy()
READ_ONLY.setflags(write=False)
STRIDED = np.zeros((3, 4))
STRIDED[:, ::2] = X


class ArrayOnly:
    """Has nothing but ``__array__``, and forbids every numpy function."""

    def __array__(self, dtype=None, copy=None):
        return X

    def __array_function__(self, *args):
        raise TypeError("no numpy function")


@pytest.mark.parametrize(
    "given",
    [
        X,
        X.tolist(),
        tuple(map(tuple, X)),
        X.astype(int),
        X.astype(np.uint8),
        X.astype(np.int16),
        X.astype(np.float16),
        X.astype(">f8"),
        X.astype(">f4"),
        X.astype(">i4"),
        X.astype(np.longdouble),
        X.astype(object),
        np.array(
            [[1, 2.0], [np.int8(3), "4"], [decimal.Decimal(5), fractions.Fraction(6)]], object
        ),
        np.asfortranarray(X),
        READ_ONLY,
        STRIDED[:, ::2],
        X[::-1][::-1],
        np.ma.array(X),
        np.ma.array(X.astype(int), mask=False),
        np.asmatrix(X) if hasattr(np, "asmatrix") else X,
        ArrayOnly(),
        pd.DataFrame(X),
        pd.DataFrame(X, columns=["a", "b"]),
        pd.DataFrame({"a": [1, 3, 5], "b": [2.0, 4.0, 6.0]}),
        pd.DataFrame(X).astype("Int64"),
        pd.DataFrame(X).astype("Float64"),
        pd.DataFrame({"a": pd.array([1, 3, 5], dtype="Int32"), "b": [2.0, 4.0, 6.0]}),
        pd.DataFrame({"a": pd.Categorical([1.0, 3.0, 5.0]), "b": [2.0, 4.0, 6.0]}),
        pd.DataFrame(X).astype(object),
        pl.DataFrame(X),
        pl.DataFrame({"a": [1, 3, 5], "b": [2.0, 4.0, 6.0]}),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_points_become_float64_in_c_order(given):
    A = as_points(given, "PCA")
    assert type(A) is np.ndarray
    assert A.dtype == np.float64
    assert A.dtype.isnative
    assert A.flags.c_contiguous
    np.testing.assert_array_equal(A, X)


@pytest.mark.parametrize(
    "given",
    [
        X.astype(np.float32),
        np.asfortranarray(X, dtype=np.float32),
        np.ma.array(X.astype(np.float32)),
        pd.DataFrame(X, dtype=np.float32),
        pd.DataFrame(X).astype("Float32"),
        pl.DataFrame(X.astype(np.float32)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_float32_stays_float32(given):
    A = as_points(given, "PCA")
    assert A.dtype == np.float32
    np.testing.assert_array_equal(A, X)


@pytest.mark.parametrize(
    "given",
    [
        [[True, False], [False, True]],
        pd.DataFrame({"a": [True, False], "b": [0.0, 1.0]}),
        pd.DataFrame({"a": pd.array([True, False], dtype="boolean"), "b": [0, 1]}),
        pl.DataFrame({"a": [True, False], "b": [0.0, 1.0]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_bools_are_zero_and_one(given):
    np.testing.assert_array_equal(as_points(given, "PCA"), np.eye(2))


def test_a_clean_array_is_not_copied():
    for dtype in (np.float64, np.float32):
        A = X.astype(dtype)
        assert as_points(A, "PCA") is A
    assert np.shares_memory(as_points(READ_ONLY, "PCA"), READ_ONLY)


@pytest.mark.parametrize("shape", [(4, 2), (1, 2), (4, 1)])
def test_a_view_without_strides_is_read_as_its_copy(shape):
    view = np.broadcast_to(np.float64(3.0), shape)
    A = as_points(view, "PCA")
    assert A.flags.c_contiguous
    np.testing.assert_array_equal(A, np.full(shape, 3.0))


def test_a_memory_map_is_read(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.testing.assert_array_equal(as_points(np.load(tmp_path / "X.npy", mmap_mode="r"), "PCA"), X)


# ------------------------------------------------------------------ points: what is turned away


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X + 1j, "Complex data not supported: X has dtype complex128"),
        (np.array([[1, 2j]], dtype=object), "Complex data not supported"),
        (np.ma.array(X + 1j, mask=False), "Complex data not supported"),
        (sparse.csr_array(X + 1j), "Complex data not supported"),
        (np.zeros((2, 2), "M8[D]"), r"dates or durations \(datetime64\[D\]\), PCA needs numbers"),
        (np.zeros((2, 2), "m8[s]"), "dates or durations"),
        (np.array([[dt.date(2020, 1, 1), 1]], dtype=object), "dates or durations"),
        (np.array([[dt.timedelta(1), 1]], dtype=object), "dates or durations"),
        (np.array([[np.datetime64("2020-01-01"), 1]], dtype=object), "dates or durations"),
        (
            pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"]), "b": [1.0, 2.0]}),
            "dates or durations",
        ),
        (
            pd.DataFrame({"a": pd.to_timedelta([1, 2], unit="s"), "b": [1.0, 2.0]}),
            "dates or durations",
        ),
        (pl.DataFrame({"a": [dt.date(2020, 1, 1)], "b": [1.0]}), "dates or durations"),
        (pl.DataFrame({"a": [dt.timedelta(1)], "b": [1.0]}), "dates or durations"),
        (X.astype(str), "text or records .* Encode or drop those columns"),
        (X.astype(bytes), "text or records"),
        (X.astype(np.dtypes.StringDType()), "text or records"),
        (np.zeros((2, 2), dtype=[("a", float)]), "text or records"),
        (np.array([["a", 1.0]], dtype=object), "could not convert string to float: 'a'"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), "could not convert string to float"),
        (pl.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), "could not convert string to float"),
        (np.array([[10**400, 1]], dtype=object), "objects that are not numbers: int too large"),
        ([[1.0, 2.0], [3.0]], "not a table of numbers: .* rows of equal length"),
        ([1.0, 2.0], r"Expected 2D array for X, got 1D array of shape \(2,\).* Reshape your data"),
        (pd.Series([1.0, 2.0]), "Reshape your data"),
        (3.0, "got a scalar. Reshape your data"),
        (None, "got a scalar"),
        ("text", "text or records"),
        (np.zeros((2, 2, 2)), "Found array with dim 3 .* Reshape your data"),
        (np.zeros((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required\."),
        ([[]], r"0 feature\(s\)"),
        ([], "Reshape your data"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        as_points(given, "PCA", accept_sparse=True)


def test_objects_that_are_not_numbers_are_a_type_error_of_numpys():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        as_points(np.array([[{}, 1.0]], dtype=object), "PCA")


def test_bounds_of_the_shape_are_the_callers():
    with pytest.raises(ParameterError, match=r"3 sample\(s\) .* minimum of 4 is required by PCA"):
        as_points(X, "PCA", min_samples=4)
    with pytest.raises(ParameterError, match=r"2 feature\(s\) .* minimum of 3"):
        as_points(X, "PCA", min_features=3)


def test_the_array_is_called_by_its_name():
    with pytest.raises(ParameterError, match="Expected 2D array for Z"):
        as_points([1.0], "PCA", name="Z")


# ------------------------------------------------------------------ missing and infinite values


def holed(value, dtype=np.float64):
    A = np.arange(20.0).reshape(5, 4).astype(dtype)
    A[3, 1] = value
    return A


MASKED = np.ma.array(holed(0.0), mask=np.isnan(holed(np.nan)))
NULLABLE = pd.DataFrame(holed(0.0)).astype("Int64")
NULLABLE.iloc[3, 1] = pd.NA
FRAME_OF_OBJECTS = pd.DataFrame(holed(0.0)).astype(object)
FRAME_OF_OBJECTS.iloc[3, 1] = pd.NA
FRAME_OF_NONE = FRAME_OF_OBJECTS.copy()
FRAME_OF_NONE.iloc[3, 1] = None


@pytest.mark.parametrize(
    "given",
    [
        holed(np.nan),
        holed(np.nan, np.float32),
        np.asfortranarray(holed(np.nan)),
        holed(np.nan, object),
        holed(None, object),
        holed(pd.NA, object),
        MASKED,
        MASKED.astype(int),
        MASKED.astype(np.float32),
        NULLABLE,
        FRAME_OF_OBJECTS,
        FRAME_OF_NONE,
        pd.DataFrame(holed(np.nan)),
        pl.DataFrame(FRAME_OF_NONE.astype(float).to_numpy()),
        sparse.csr_array(holed(np.nan)),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_a_missing_value_is_located(given):
    message = (
        r"Input X contains NaN \(first at row 3, column 1\)\. PCA needs finite values: "
        "drop or impute those rows"
    )
    with pytest.raises(ParameterError, match=message):
        as_points(given, "PCA", accept_sparse=True)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("build", [np.array, sparse.csr_array, sparse.csc_array])
def test_an_infinity_is_located(value, dtype, build):
    name = np.dtype(dtype).name
    message = rf"infinity or a value too large for dtype\('{name}'\) \(first at row 3, column 1\)"
    with pytest.raises(ParameterError, match=message):
        as_points(build(holed(value, dtype)), "PCA", accept_sparse=True)


def test_a_longdouble_too_large_is_refused():
    if np.finfo(np.longdouble).max == np.finfo(float).max:
        pytest.skip("longdouble is no wider than double here")
    with pytest.raises(ParameterError, match="infinity or a value too large"):
        as_points(np.full((2, 2), np.finfo(np.longdouble).max), "PCA")


@pytest.mark.parametrize(("dtype", "huge"), [(np.float64, 1.5e308), (np.float32, 3e38)])
def test_a_sum_that_overflows_is_not_an_infinity(dtype, huge):
    A = np.full((4, 3), huge, dtype=dtype)
    assert as_points(A, "PCA") is A
    A = A * np.array([1, -1, 1], dtype=dtype)
    assert as_points(A, "PCA") is A


def test_the_first_of_many_in_a_large_array_is_named():
    A = np.zeros((600_000, 2))
    A[[530_001, 590_000], 1] = np.nan
    with pytest.raises(ParameterError, match="row 530001, column 1"):
        raise_not_finite(A, "PCA")
    assert raise_not_finite(A[:500_000], "PCA") is None


def test_the_check_is_left_out_where_the_method_has_its_own():
    assert np.isnan(as_points(holed(np.nan), "PCA", finite=False)[3, 1])
    assert np.isnan(as_points(MASKED, "PCA", finite=False)[3, 1])


def test_assume_finite_of_scikit_learn_is_honoured():
    with sklearn.config_context(assume_finite=True):
        check_finite(holed(np.nan), "PCA")
        assert np.isnan(as_points(holed(np.nan), "PCA")[3, 1])
    with pytest.raises(ParameterError):
        check_finite(holed(np.nan), "PCA")


# ------------------------------------------------------------------ sparse


def test_sparse_is_refused_unless_accepted():
    with pytest.raises(TypeError, match=r"PCA does not accept sparse input.*X\.toarray\(\)"):
        as_points(sparse.csr_matrix(X), "PCA")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("box", ["array", "matrix"])
def test_sparse_becomes_csr(kind, box):
    A = as_points(getattr(sparse, f"{kind}_{box}")(X), "PCA", accept_sparse=True)
    assert A.format == "csr"
    assert A.has_canonical_format
    np.testing.assert_array_equal(A.toarray(), X)


def test_sparse_types():
    for dtype, wanted in ((np.float32, np.float32), (np.int32, np.float64), (bool, np.float64)):
        A = as_points(sparse.csr_array(X.astype(dtype)), "PCA", accept_sparse=True)
        assert A.dtype == wanted


def test_duplicate_entries_are_summed_on_a_copy():
    S = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])))
    A = as_points(S, "PCA", accept_sparse=True)
    np.testing.assert_array_equal(A.toarray(), [[0.0, 3.0], [4.0, 0.0]])
    assert S.nnz == 3
    np.testing.assert_array_equal(S.data, [1.0, 2.0, 4.0])


def test_a_sparse_vector_is_refused():
    with pytest.raises(ParameterError, match="2-D sparse array for X, got 1-D"):
        as_points(sparse.coo_array(np.array([1.0, 0.0])), "PCA", accept_sparse=True)


def test_the_place_of_a_sparse_value_skips_empty_rows():
    S = sparse.csr_array(np.diag([0.0, 0.0, np.nan, 1.0]))
    with pytest.raises(ParameterError, match="row 2, column 2"):
        check_finite(S, "PCA")


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"], [1, 0, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([2.0, 1.0, 2.0], [1.0, 2.0], [1, 0, 1]),
        (pd.Series(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        (pd.Series([3, 1, 3], dtype="Int64"), [1, 3], [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"], [1, 0, 1]),
        (pl.Series([3, 1, 3]), [1, 3], [1, 0, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_become_class_numbers(y, classes, codes):
    found, numbers = as_labels(y, 3, "LDA")
    assert list(found) == classes
    assert numbers.dtype.kind == "i"
    np.testing.assert_array_equal(numbers, codes)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "LDA requires y to be passed, but the target y is None"),
        ([1, 2], "inconsistent numbers of samples: X has 3 rows, y has 2"),
        (np.zeros((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\)"),
        (1, "y should be a 1d array"),
        ([1.0, np.nan, 2.0], "y contains NaN or infinity"),
        ([1.0, np.inf, 2.0], "y contains NaN or infinity"),
        ([0.5, 1.0, 2.0], "Unknown label type: continuous"),
        ([1j, 1, 2], "Complex data not supported"),
        (np.array(["a", None, "b"], dtype=object), "y contains NaN or None"),
        (np.array(["a", np.nan, "b"], dtype=object), "y contains NaN or None"),
        (pd.Series(["a", pd.NA, "b"], dtype=object), "y contains NaN or None"),
        (pd.Series([1, None, 2], dtype="Int64"), "y contains NaN"),
        (np.array(["a", 1, "b"], dtype=object), "cannot be put in order.* labels of one type"),
    ],
)
def test_what_is_no_label_is_refused(y, message):
    with pytest.raises(ParameterError, match=message):
        as_labels(y, 3, "LDA")


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        classes, codes = as_labels(np.array([[2], [1], [2]]), 3, "LDA")
    assert list(classes) == [1, 2]
    assert list(codes) == [1, 0, 1]


# ------------------------------------------------------------------ memory


def test_work_that_does_not_fit_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(checks, "available_memory", lambda: 10e9)
    check_memory(8e9, "Isomap", "Pass n_landmarks.")
    with pytest.raises(MemoryBudgetError) as caught:
        check_memory(8.1e9, "Isomap", "Pass n_landmarks.")
    assert str(caught.value) == (
        "Isomap would need 8.1 GB, 10.0 GB are available. Pass n_landmarks."
    )


def test_available_memory_is_the_smallest_limit(monkeypatch):
    monkeypatch.setattr(checks, "_meminfo_available", lambda: 30)
    monkeypatch.setattr(checks, "_cgroup_left", lambda: None)
    monkeypatch.setattr(checks, "address_space_left", lambda: 20)
    assert checks.available_memory() == 20
    for name in ("_meminfo_available", "address_space_left"):
        monkeypatch.setattr(checks, name, lambda: None)
    assert checks.available_memory() == float("inf")


def fake_files(monkeypatch, tmp_path, **files):
    """Let ``open`` inside checks read these texts in place of the system's files."""

    def fake_open(path):
        name = path.rpartition("/")[2].replace(".", "_")
        if name not in files:
            raise FileNotFoundError(path)
        (tmp_path / name).write_text(files[name])
        return open(tmp_path / name)

    monkeypatch.setattr(checks, "open", fake_open, raising=False)


def test_cached_files_count_as_available(monkeypatch, tmp_path):
    stat = "anon 300\nfile 600\ninactive_anon 5\nactive_file 100\ninactive_file 400\n"
    fake_files(monkeypatch, tmp_path, memory_max="1000", memory_current="900", memory_stat=stat)
    assert checks._cgroup_left() == 1000 - 900 + 500


def test_no_limit_of_the_control_group(monkeypatch, tmp_path):
    fake_files(monkeypatch, tmp_path, memory_max="max\n", memory_current="9", memory_stat="")
    assert checks._cgroup_left() is None
    fake_files(monkeypatch, tmp_path)
    assert checks._cgroup_left() is None


def test_free_memory_is_read(monkeypatch, tmp_path):
    fake_files(monkeypatch, tmp_path, meminfo="MemTotal: 9 kB\nMemAvailable:   5 kB\n")
    assert checks._meminfo_available() == 5 * 1024
    fake_files(monkeypatch, tmp_path, meminfo="MemTotal: 9 kB\n")
    assert checks._meminfo_available() is None


def test_an_address_space_limit_is_seen(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    fake_files(monkeypatch, tmp_path, statm="3 1 1\n")
    monkeypatch.setattr(checks.os, "sysconf", lambda name: 10)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100, 100))
    assert checks.address_space_left() == 70
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert checks.address_space_left() is None
