"""What may be passed in: every container gives the same bits, and faults are named."""

import pathlib
import tempfile

import numpy as np

from manifold_lab.errors import ParameterError
from manifold_lab.testing.subject import assert_same, pandas, refused, state


def containers_give_the_same_bits(subject):
    X, y = subject.data()
    X = np.round(X, 3)  # lists and text survive it, and so does everything else
    wanted = subject.new().fit_transform(X, y)
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    forms = {
        "a list of lists": X.tolist(),
        "a Fortran array": np.asfortranarray(X),
        "a strided view": wide[:, ::2],
        "a reversed view": X[::-1, ::-1].copy()[::-1, ::-1],
        "a read-only array": frozen,
        "a big-endian array": X.astype(">f8"),
        "an object array": X.astype(object),
    }
    for form, data in forms.items():
        model = subject.new()
        assert_same(model.fit_transform(data, y), wanted, f"fit_transform of {form} differs")
        if hasattr(model, "transform"):
            a, b = model.transform(data), model.transform(X)
            assert_same(a, b, f"transform of {form} differs")


def memory_map_is_accepted(subject):
    X, y = subject.data()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "X.npy")
        np.save(path, X)
        mapped = np.load(path, mmap_mode="r")
        Z = subject.new().fit_transform(mapped, y)
        assert_same(Z, subject.new().fit_transform(X, y), "a memory map gives other results")
        del mapped  # a mapped file cannot be removed on every platform


def integers_are_accepted(subject):
    X, y = subject.data()
    whole = np.rint(10 * X)
    wanted = subject.new().fit_transform(whole, y)
    for dtype in (np.int64, np.int16):
        Z = subject.new().fit_transform(whole.astype(dtype), y)
        assert_same(Z, wanted, f"{np.dtype(dtype)} input differs from float64")


def data_frame_is_accepted(subject):
    pd = pandas()
    X, y = subject.data()
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(X)) + 100)
    model = subject.new()
    Z = model.fit_transform(frame, y)
    assert_same(Z, subject.new().fit_transform(X, y), "a data frame gives other results")
    known = list(getattr(model, "feature_names_in_", ()))
    assert known == names, f"feature_names_in_ are {known}, not the column names"
    if hasattr(model, "transform"):
        assert_same(model.transform(frame), model.transform(frame.copy()), "transform varies")
        with refused(ParameterError, "transform of renamed columns", "feature names", "d0"):
            model.transform(frame.rename(columns={"c0": "d0"}))
        if len(names) > 1:
            with refused(ParameterError, "transform of reordered columns", "order"):
                model.transform(frame[names[::-1]])
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_"), "refitting on an array keeps old column names"


def inputs_are_not_modified(subject):
    X, y = subject.data()
    for dtype in (np.float64, np.float32):
        given = X.astype(dtype)
        labels = None if y is None else y.copy()
        model = subject.new().fit(given, labels)
        model.fit_transform(given, labels)
        if hasattr(model, "transform"):
            model.transform(given)
        assert_same(given, X.astype(dtype), "X was written to")
        assert_same(labels, y, "y was written to")


def model_keeps_no_view(subject):
    X, y = subject.data()
    for dtype in (np.float64, np.float32):
        given, labels = X.astype(dtype), None if y is None else y.copy()
        model = subject.new()
        Z = model.fit_transform(given, labels)
        before = state(model)
        Z[:] = -1.0
        assert_same(vars(model), before, "writing to the embedding returned changes the model")
        given[:] = 7.0
        if labels is not None:
            labels[:] = 0
        assert_same(vars(model), before, "the model holds a view of X or y; keep a copy")
        if hasattr(model, "transform"):
            fresh = X.astype(dtype)
            model.transform(fresh)[:] = -1.0
            assert_same(vars(model), before, "what transform returns is a view of the model")
            assert_same(fresh, X.astype(dtype), "what transform returns is a view of X")


def non_finite_values_are_located(subject):
    X, y = subject.data()
    model = subject.fitted()
    for value in (np.nan, np.inf, -np.inf):
        bad = X.copy()
        bad[3, 1] = value
        text = "NaN" if np.isnan(value) else "inf"
        with refused(ParameterError, f"fit with {value}", text, "row 3", "column 1"):
            subject.new().fit(bad, y)
        if hasattr(model, "transform"):
            with refused(ParameterError, f"transform of {value}", text, "row 3", "column 1"):
                model.transform(bad)


def wrong_shapes_are_refused(subject):
    X, y = subject.data()
    new, model = subject.new, subject.fitted()
    with refused(ParameterError, "fit of one dimension", "reshape"):
        new().fit(X[:, 0], y)
    with refused(ParameterError, "fit of three dimensions", "3"):
        new().fit(X[:, :, None], y)
    with refused(ParameterError, "fit of no rows", "0 sample"):
        new().fit(X[:0], None if y is None else y[:0])
    with refused(ParameterError, "fit of no columns", "0 feature"):
        new().fit(X[:, :0], y)
    few = model.min_samples - 1
    with refused(ParameterError, f"fit of {few} rows (min_samples is {few + 1})"):
        new().fit(X[:few], None if y is None else y[:few])
    if hasattr(model, "transform"):
        with refused(ParameterError, "transform of one dimension", "reshape"):
            model.transform(X[0])
        widths = f"{X.shape[1] - 1} features", f"{X.shape[1]} features"
        with refused(ParameterError, "transform of too few columns", *widths):
            model.transform(X[:, 1:])


def non_numbers_are_refused(subject):
    X, y = subject.data()
    day = np.datetime64("2020-01-01") + np.arange(X.size).reshape(X.shape)
    for what, bad in (
        ("complex numbers", X + 1j),
        ("dates", day),
        ("text", X.astype(str)),
        ("objects that are text", np.full(X.shape, "a", dtype=object)),
    ):
        with refused(ParameterError, f"fit of {what}"):
            subject.new().fit(bad, y)


CHECKS = (
    containers_give_the_same_bits,
    memory_map_is_accepted,
    integers_are_accepted,
    data_frame_is_accepted,
    inputs_are_not_modified,
    model_keeps_no_view,
    non_finite_values_are_located,
    wrong_shapes_are_refused,
    non_numbers_are_refused,
)
