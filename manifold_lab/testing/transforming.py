"""New samples, the way back, and the containers of the result."""

from concurrent.futures import ThreadPoolExecutor
from unittest import SkipTest

import numpy as np

from manifold_lab.errors import ParameterError
from manifold_lab.testing.subject import assert_close, assert_same, pandas, refused, state


def has_transform(subject):
    if not hasattr(subject.cls, "_transform"):
        raise SkipTest("transductive: the class defines no _transform")
    assert hasattr(subject.new(), "transform"), "_transform is defined, but transform is not there"


def transform_repeats_the_embedding(subject):
    X, y = subject.data()
    model = subject.needs("transform")
    Z = subject.new().fit_transform(X, y)
    assert_close(model.transform(X), Z, "transform(X) is not fit_transform(X)", tol=1e-6)


def rows_are_mapped_one_by_one(subject):
    model = subject.needs("transform")
    X, _ = subject.data()
    new = X[:20] if model.pairwise else subject.data(n_samples=20, seed=3)[0]
    Z = model.transform(new)
    single = np.concatenate([model.transform(new[i : i + 1]) for i in range(len(new))])
    assert_close(single, Z, "rows sent one by one are mapped elsewhere than as a batch")
    assert_close(model.transform(new[::-1]), Z[::-1], "the order of the rows matters")


def transform_changes_nothing(subject):
    model = subject.needs("transform")
    X, _ = subject.data()
    before = state(model)
    first = model.transform(X)
    assert_same(vars(model), before, "transform changed the model")
    assert_same(model.transform(X), first, "a second transform gives another result")


def threads_may_share_a_model(subject):
    model = subject.needs("transform")
    X, _ = subject.data()
    wanted = model.transform(X)
    with ThreadPoolExecutor(4) as pool:
        for Z in pool.map(model.transform, [X] * 12):
            assert_same(Z, wanted, "transform gives another result when threads share the model")


def inverse_transform_leads_back(subject):
    model = subject.needs("inverse_transform")
    X, y = subject.points()
    Z = model.transform(X)
    back = model.inverse_transform(Z)
    assert back.shape == X.shape, f"inverse_transform gives shape {back.shape}, wanted {X.shape}"
    assert np.isfinite(back).all(), "inverse_transform gives NaN or infinity"
    single = model.inverse_transform(Z.astype(np.float32))
    assert single.dtype == np.float32, f"float32 in, {single.dtype} out of inverse_transform"
    with refused(ParameterError, "inverse_transform of too many columns", "columns"):
        model.inverse_transform(np.c_[Z, Z])
    if hasattr(model, "components_") and subject.has("n_components"):
        full = subject.new(n_components=X.shape[1]).fit(X, y)
        back = full.inverse_transform(full.transform(X))
        assert_close(back, X, "a linear map of full rank must lead back exactly", tol=1e-8)


def output_names_are_sound(subject):
    model = subject.fitted()
    names = model.get_feature_names_out()
    assert isinstance(names, np.ndarray), "get_feature_names_out must return an array"
    assert names.dtype == object, "get_feature_names_out must return an array of objects"
    assert all(isinstance(name, str) for name in names), "the names of the columns must be strings"
    assert len(set(names)) == len(names) == model.n_components_, f"one name a column, not {names}"
    with refused(ParameterError, "input_features of a wrong length", "input_features"):
        model.get_feature_names_out(["a"] * (model.n_features_in_ + 1))


def set_output_gives_frames(subject):
    pd = pandas()
    X, y = subject.data()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).set_index(
        np.arange(len(X)) + 100
    )
    plain = subject.new().fit_transform(X, y)
    model = subject.new()
    assert model.set_output(transform="pandas") is model, "set_output must return self"
    Z = model.fit_transform(frame, y)
    assert isinstance(Z, pd.DataFrame), f"fit_transform gives {type(Z).__name__}, not a frame"
    assert_same(Z.to_numpy(), plain, "the frame holds other values than the array")
    assert list(Z.columns) == list(model.get_feature_names_out()), "the frame has other names"
    assert Z.index.equals(frame.index), "the frame has lost the index of X"
    if hasattr(model, "transform"):
        assert isinstance(model.transform(frame), pd.DataFrame), "transform gives no frame"
    model.set_output(transform=None)
    assert isinstance(model.fit_transform(frame, y), pd.DataFrame), "None must change nothing"
    model.set_output(transform="default")
    assert isinstance(model.fit_transform(frame, y), np.ndarray), "'default' must give arrays"
    with refused(ParameterError, "an unknown container", "pandas"):
        model.set_output(transform="no such container")


CHECKS = (
    has_transform,
    transform_repeats_the_embedding,
    rows_are_mapped_one_by_one,
    transform_changes_nothing,
    threads_may_share_a_model,
    inverse_transform_leads_back,
    output_names_are_sound,
    set_output_gives_frames,
)
