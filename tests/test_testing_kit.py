"""The conformance kit itself: good reducers pass, and each check catches what it is for."""

import os
import random
import sys
import threading
import warnings
from unittest import SkipTest

import numpy as np
import pytest
from small_reducers import Axes, Bent, Means, Recall

from manifold_lab.base import Reducer, param
from manifold_lab.checks import Float, Int
from manifold_lab.errors import GraphWarning, ParameterError, warn
from manifold_lab.testing import checks, run_checks, subject

NAMES = [
    "parameters_are_keywords",
    "construction_does_no_work",
    "unknown_parameter_is_refused",
    "parameters_round_trip",
    "parameter_bounds_are_enforced",
    "repr_evaluates",
    "docstring_opens_with_a_sentence",
    "fit_returns_self",
    "fit_leaves_parameters_alone",
    "fitted_names_end_in_underscore",
    "embedding_is_sound",
    "float32_agrees_with_float64",
    "n_components_is_obeyed",
    "refit_forgets",
    "failed_fit_changes_nothing",
    "interrupted_fit_changes_nothing",
    "unfitted_use_is_refused",
    "duplicates_are_tolerated",
    "containers_give_the_same_bits",
    "memory_map_is_accepted",
    "integers_are_accepted",
    "data_frame_is_accepted",
    "inputs_are_not_modified",
    "model_keeps_no_view",
    "non_finite_values_are_located",
    "wrong_shapes_are_refused",
    "non_numbers_are_refused",
    "results_repeat",
    "n_jobs_changes_no_bit",
    "supervised_flag_is_true",
    "accepts_sparse_flag_is_true",
    "partial_fit_learns",
    "iterations_are_counted",
    "every_parameter_has_an_effect",
    "row_order_does_not_matter",
    "translation_does_not_matter",
    "rotation_does_not_matter",
    "has_transform",
    "transform_repeats_the_embedding",
    "rows_are_mapped_one_by_one",
    "transform_changes_nothing",
    "threads_may_share_a_model",
    "inverse_transform_leads_back",
    "output_names_are_sound",
    "set_output_gives_frames",
    "plane_is_recovered",
    "trustworthiness_is_as_promised",
    "pickles",
    "fitted_arrays_may_be_read_only",
    "global_random_state_is_untouched",
    "is_silent",
    "warnings_are_ours",
    "nothing_is_left_open",
]

# ------------------------------------------------------------------ broken reducers

BROKEN = {}  # check name -> classes that must fail it


def breaks(*names):
    """Note that the class below fails these checks."""

    def note(cls):
        for name in names:
            BROKEN.setdefault(name, []).append(cls)
        return cls

    return note


@breaks("parameters_are_keywords")
class Positional(Reducer):
    """Take a parameter by position."""

    def __init__(self, k=2):
        self.k = k


@breaks("parameters_are_keywords")
class Demanding(Reducer):
    """Have a parameter without a default."""

    def __init__(self, *, k=2, **rest):
        self.k = k


@breaks("construction_does_no_work", "parameters_round_trip")
class Converting(Axes):
    """Change a parameter on the way in."""

    def __init__(self, *, n_components=2, options=()):
        self.n_components, self.options = n_components, [options]


@breaks("construction_does_no_work")
class Eager(Axes):
    """Set more than parameters."""

    def __init__(self, *, n_components=2):
        self.n_components, self.ready = n_components, True


@breaks("unknown_parameter_is_refused")
class Permissive(Axes):
    """Accept any keyword."""

    def __init__(self, *, n_components=2, **rest):
        self.n_components = n_components


@breaks("parameter_bounds_are_enforced")
class Unbounded(Axes):
    """Do not look at the parameters."""

    def _check_parameters(self):
        pass


@breaks("repr_evaluates")
class Wordy(Axes):
    """Say hello."""

    def __repr__(self):
        return "<an object>"


@breaks("docstring_opens_with_a_sentence")
class Undocumented(Axes):
    bend: float = param(1.0, Float(0.0))


@breaks("docstring_opens_with_a_sentence")
class Terse(Axes):
    """No full stop"""


@breaks("fit_returns_self")
class Returning(Axes):
    """Return nothing from fit."""

    def fit(self, X, y=None):
        super().fit(X, y)


@breaks("fit_leaves_parameters_alone")
class Deciding(Axes):
    """Replace a parameter in fit."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.scale = 1.0 / X.shape[1]


@breaks("fitted_names_end_in_underscore")
class Unmarked(Axes):
    """Keep fitted state under a public name."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.spread = X.std()


@breaks("embedding_is_sound")
class Doubling(Axes):
    """Give float64 for float32."""

    def fit_transform(self, X, y=None):
        return super().fit_transform(X, y).astype(np.float64)


@breaks("embedding_is_sound")
class Forgetful(Bent):
    """Keep another embedding than the one returned."""

    def fit_transform(self, X, y=None):
        return super().fit_transform(X, y) + 1


@breaks("float32_agrees_with_float64")
class Coarse(Axes):
    """Work in very low precision when the input is float32."""

    def _transform(self, X):
        Z = super()._transform(X)
        return np.rint(Z) if X.dtype == np.float32 else Z


@breaks("n_components_is_obeyed")
class Clipping(Axes):
    """Give fewer columns than asked for, silently."""

    def _finish(self, dtype):
        self.components_ = np.eye(self.n_features_in_)[: self.n_components]


@breaks("n_components_is_obeyed")
class Stubborn(Axes):
    """Always give two columns."""

    def _finish(self, dtype):
        self.components_ = np.eye(self.n_features_in_)[:2]


@breaks("refit_forgets")
class Remembering(Axes):
    """Count the fits."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self._fits = getattr(self, "_fits", 0) + 1


@breaks("failed_fit_changes_nothing", "interrupted_fit_changes_nothing")
class InPlace(Axes):
    """Fit the object itself instead of a copy."""

    def _blank(self):
        return self


@breaks("interrupted_fit_changes_nothing")
class Accumulating(Axes):
    """Update a fitted array in place, which the copy shares with the object."""

    def _partial_fit(self, X, y):
        if hasattr(self, "scatter_"):
            self.scatter_ += 1.0
        super()._partial_fit(X, y)


@breaks("interrupted_fit_changes_nothing")
class Unstoppable(Axes):
    """Swallow Ctrl-C."""

    def fit(self, X, y=None):
        try:
            return super().fit(X, y)
        except KeyboardInterrupt:
            return self


@breaks("unfitted_use_is_refused")
class Careless(Axes):
    """Do not ask whether there was a fit."""

    def _need_fit(self):
        pass


@breaks("duplicates_are_tolerated", "rows_are_mapped_one_by_one")
class ByPlace(Axes):
    """Let the number of a row matter."""

    def _transform(self, X):
        return super()._transform(X) + 1e-3 * np.arange(len(X))[:, None]


@breaks("containers_give_the_same_bits")
class OrderBound(Axes):
    """Read the memory as it lies."""

    def _enter(self, X, *, fitting):
        A = super()._enter(X, fitting=fitting)
        turned = isinstance(X, np.ndarray) and not X.flags.c_contiguous
        return A + 1e-9 if turned else A


@breaks("containers_give_the_same_bits", "inputs_are_not_modified")
class Writing(Axes):
    """Centre the input in place."""

    def _fit(self, X, y):
        X -= X.mean(axis=0)
        super()._fit(X, y)


@breaks("memory_map_is_accepted")
class MapShy(Axes):
    """Refuse a memory map."""

    def _enter(self, X, *, fitting):
        if isinstance(X, np.memmap):
            raise TypeError("a file")
        return super()._enter(X, fitting=fitting)


@breaks("integers_are_accepted")
class FloatOnly(Axes):
    """Refuse whole numbers."""

    def _enter(self, X, *, fitting):
        if np.asarray(X).dtype.kind == "i":
            raise TypeError("integers")
        return super()._enter(X, fitting=fitting)


@breaks("data_frame_is_accepted")
class Nameless(Axes):
    """Take no notice of column names."""

    def _enter(self, X, *, fitting):
        return super()._enter(np.asarray(X), fitting=fitting)


@breaks("data_frame_is_accepted")
class OldNames(Axes):
    """Keep the names of an earlier fit."""

    def _blank(self):
        work = super()._blank()
        if hasattr(self, "feature_names_in_"):
            work.feature_names_in_ = self.feature_names_in_
        return work


@breaks("model_keeps_no_view")
class Viewing(Axes):
    """Keep a view of the caller's data."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.rows_ = X[:3]


@breaks("model_keeps_no_view")
class Lending(Bent):
    """Return the array that the model keeps."""

    def fit_transform(self, X, y=None):
        return self.fit(X, y).embedding_


@breaks("non_finite_values_are_located")
class Vague(Axes):
    """Refuse NaN without saying where."""

    def _enter(self, X, *, fitting):
        if not np.isfinite(np.asarray(X, dtype=float)).all():
            raise ParameterError("NaN or inf")
        return super()._enter(X, fitting=fitting)


@breaks("wrong_shapes_are_refused")
class Stretching(Axes):
    """Take a vector for a column."""

    def _enter(self, X, *, fitting):
        return super()._enter(X.reshape(-1, 1) if np.ndim(X) == 1 else X, fitting=fitting)


@breaks("non_numbers_are_refused")
class Parsing(Axes):
    """Read text as numbers."""

    def _enter(self, X, *, fitting):
        text = isinstance(X, np.ndarray) and X.dtype.kind == "U"
        return super()._enter(X.astype(float) if text else X, fitting=fitting)


@breaks("results_repeat")
class Unseeded(Axes):
    """Draw from an unseeded generator."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.noise_ = np.random.default_rng().normal()


@breaks("n_jobs_changes_no_bit")
class Racing(Axes):
    """Let the number of threads show."""

    def _transform(self, X):
        return super()._transform(X) * (1.0 + (self.n_jobs or 1) * 1e-12)


@breaks("supervised_flag_is_true")
class Peeking(Axes):
    """Use labels without saying so."""

    def _enter_labels(self, y, n_samples):
        return y

    def _fit(self, X, y):
        super()._fit(X, y)
        self.labelled_ = y is not None


@breaks("supervised_flag_is_true")
class Indifferent(Axes):
    """Demand labels and ignore them."""

    supervised = True


@breaks("supervised_flag_is_true")
class Lenient(Means):
    """Work without labels although they are said to be needed."""

    def _enter_labels(self, y, n_samples):
        return super()._enter_labels(np.arange(n_samples) % 2 if y is None else y, n_samples)


@breaks("accepts_sparse_flag_is_true")
class Boasting(Axes):
    """Claim to take sparse input."""

    accepts_sparse = True


@breaks("accepts_sparse_flag_is_true")
class Densifying(Axes):
    """Turn sparse input into an array, silently."""

    def _enter(self, X, *, fitting):
        return super()._enter(X.toarray() if hasattr(X, "toarray") else X, fitting=fitting)


@breaks("partial_fit_learns")
class Deaf(Axes):
    """Learn from the first batch only."""

    def _partial_fit(self, X, y):
        if not hasattr(self, "scatter_"):
            self._fit(X, y)


@breaks("iterations_are_counted")
class Uncounted(Recall):
    """Iterate, and do not say how often."""

    max_iter: int = param(10, Int(1))


@breaks("iterations_are_counted")
class Idle(Recall):
    """Say that nothing was done."""

    max_iter: int = param(10, Int(1))

    def _fit(self, X, y):
        self.n_iter_ = 0
        return super()._fit(X, y)


@breaks("every_parameter_has_an_effect")
class Ornamental(Axes):
    """Declare a parameter and never use it."""

    reg: float = param(1e-3, Float(0.0))


@breaks("every_parameter_has_an_effect")
class Modest(Axes):
    """Declare a parameter without effect that has one."""

    no_effect = {**Axes.no_effect, "scale": "nobody sees it"}


@breaks("every_parameter_has_an_effect")
class Mistaken(Axes):
    """Declare a parameter that is not there."""

    no_effect = {**Axes.no_effect, "shade": "there is none"}


@breaks("row_order_does_not_matter")
class FirstCome(Axes):
    """Centre at the first rows."""

    def _transform(self, X):
        return super()._transform(X) * (1.0 + 0.1 * abs(self.first_))

    def _fit(self, X, y):
        self.first_ = float(X[0, 0])
        super()._fit(X, y)


@breaks("translation_does_not_matter")
class Uncentred(Axes):
    """Use raw moments."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.scatter_ = X.T @ X
        self._finish(X.dtype)


@breaks("rotation_does_not_matter")
class Columns(Axes):
    """Keep the first columns."""

    def _finish(self, dtype):
        self.components_ = np.eye(self.n_features_in_)[: self.n_components]


@breaks("has_transform")
class Hiding(Axes):
    """Have the hook, but not the method."""

    transform = property()


@breaks("transform_repeats_the_embedding")
class Approximate(Bent):
    """Map new rows by another formula."""

    def _fit(self, X, y):
        return super()._fit(X, y) * 1.001


@breaks("rows_are_mapped_one_by_one")
class Batchwise(Axes):
    """Centre every batch by itself."""

    def _transform(self, X):
        return super()._transform(X - X.mean(axis=0))


@breaks("transform_changes_nothing")
class Caching(Axes):
    """Keep what was transformed last."""

    def _transform(self, X):
        self.last_ = super()._transform(X)
        return self.last_


@breaks("transform_changes_nothing")
class Drawing(Axes):
    """Draw from a generator that is kept."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.rng_ = np.random.default_rng(0)

    def _transform(self, X):
        return super()._transform(X) + self.rng_.normal()


@breaks("threads_may_share_a_model")
class OneAtATime(Axes):
    """Work in the main thread only."""

    def _transform(self, X):
        Z = super()._transform(X)
        return Z if threading.current_thread() is threading.main_thread() else 0.0 * Z


@breaks("inverse_transform_leads_back")
class Lost(Axes):
    """Forget the mean on the way back."""

    def _inverse_transform(self, Z):
        return Z @ self.components_


@breaks("inverse_transform_leads_back")
class Narrow(Axes):
    """Give back too few columns."""

    def inverse_transform(self, Z):
        return super().inverse_transform(Z)[:, 1:]


@breaks("output_names_are_sound")
class Twins(Axes):
    """Call every column the same."""

    def get_feature_names_out(self, input_features=None):
        return np.array(["z"] * self.n_components_, dtype=object)


@breaks("set_output_gives_frames")
class Plain(Axes):
    """Always give arrays."""

    def _wrapped(self, Z, X):
        return Z


@breaks("plane_is_recovered")
class Shear(Axes):
    """Bend what ought to be straight."""

    def _transform(self, X):
        return super()._transform(X) ** 3


@breaks("plane_is_recovered", "trustworthiness_is_as_promised")
class Shuffled(Bent):
    """Fold the embedding."""

    min_trustworthiness = 0.9

    def _transform(self, X):
        return np.sin(40.0 * super()._transform(X))


@breaks("pickles")
class Lambda(Axes):
    """Keep a function that cannot be pickled."""

    def _fit(self, X, y):
        super()._fit(X, y)
        self.kernel_ = lambda a: a


@breaks("pickles")
class Losing(Axes):
    """Lose state when pickled."""

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "mean_"}


@breaks("fitted_arrays_may_be_read_only")
class Scribbling(Axes):
    """Write to a fitted array, to the same values."""

    def _transform(self, X):
        self.mean_ += 0.0
        return super()._transform(X)


@breaks("global_random_state_is_untouched")
class Numpys(Axes):
    """Draw from numpy's global generator."""

    def _fit(self, X, y):
        super()._fit(X, y)
        np.random.normal()  # noqa: NPY002


@breaks("global_random_state_is_untouched")
class Pythons(Axes):
    """Draw from Python's global generator."""

    def _fit(self, X, y):
        super()._fit(X, y)
        random.random()


@breaks("is_silent")
class Chatty(Axes):
    """Print."""

    def _fit(self, X, y):
        super()._fit(X, y)
        print("done")


@breaks("is_silent")
class Muttering(Axes):
    """Write to the file descriptor, as C code does."""

    def _fit(self, X, y):
        super()._fit(X, y)
        os.write(2, b"info = 3\n")


@breaks("warnings_are_ours")
class Dividing(Axes):
    """Let numpy's warnings out."""

    def _fit(self, X, y):
        super()._fit(X, y)
        np.zeros(1) / 0.0


@breaks("nothing_is_left_open")
class Spawning(Axes):
    """Leave a thread behind."""

    released = threading.Event()

    def _fit(self, X, y):
        super()._fit(X, y)
        threading.Thread(target=self.released.wait, daemon=True).start()


@breaks("nothing_is_left_open")
class Opening(Axes):
    """Leave a file open."""

    kept = []

    def _fit(self, X, y):
        super()._fit(X, y)
        self.kept.append(open(__file__))  # noqa: SIM115


# ------------------------------------------------------------------ tests


@pytest.mark.parametrize(
    "good", [Axes, Bent, Means, Recall, Axes(n_components=3, scale=2.0)], ids=repr
)
def test_a_good_reducer_passes_everything(good):
    outcomes = run_checks(good)
    assert [name for name, _, _ in outcomes] == NAMES
    assert [o for o in outcomes if o[1] not in ("passed", "skipped")] == []


def test_only_what_does_not_apply_is_skipped():
    skipped = {name: text for name, outcome, text in run_checks(Axes) if outcome == "skipped"}
    assert skipped == {
        "iterations_are_counted": "no max_iter",
        "trustworthiness_is_as_promised": "min_trustworthiness is None: nothing is promised",
    }
    skipped = {name for name, outcome, _ in run_checks(Recall) if outcome == "skipped"}
    assert skipped == {
        "n_jobs_changes_no_bit",
        "partial_fit_learns",
        "iterations_are_counted",
        "has_transform",
        "transform_repeats_the_embedding",
        "rows_are_mapped_one_by_one",
        "transform_changes_nothing",
        "threads_may_share_a_model",
        "inverse_transform_leads_back",
        "trustworthiness_is_as_promised",
        "fitted_arrays_may_be_read_only",
    }


def test_every_check_has_a_reducer_that_breaks_it():
    assert set(BROKEN) == set(NAMES)


@pytest.mark.parametrize(
    ("name", "cls"),
    [(name, cls) for name in NAMES for cls in BROKEN.get(name, ())],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_broken_reducer_is_caught(name, cls):
    check = next(check for check in checks(cls) if str(check) == name)
    Spawning.released.clear()
    try:
        with pytest.raises(AssertionError, match=rf"^{cls.__name__}: \S"):
            check()
    finally:
        Spawning.released.set()
        while Opening.kept:
            Opening.kept.pop().close()


def test_a_stray_exception_is_a_failure_that_names_it():
    class Crashing(Axes):
        """Fall over."""

        def _fit(self, X, y):
            raise ZeroDivisionError("by accident")

    messages = {name: text for name, _, text in run_checks(Crashing)}
    assert (
        messages["fit_returns_self"]
        == "Crashing: 'fit_returns_self' met ZeroDivisionError: by accident"
    )


def test_expected_failures_are_strict():
    expected = {"is_silent": "it reports progress"}
    outcomes = {n: (o, t) for n, o, t in run_checks(Chatty, expected_failures=expected)}
    assert outcomes["is_silent"] == ("expected", "it reports progress")
    outcomes = {n: (o, t) for n, o, t in run_checks(Axes, expected_failures=expected)}
    outcome, text = outcomes["is_silent"]
    assert outcome == "failed"
    assert "expected to fail (it reports progress). Remove it" in text


def test_expected_failures_are_checked():
    with pytest.raises(ParameterError, match="no such check: is_loud"):
        checks(Axes, expected_failures={"is_loud": "why not"})
    with pytest.raises(ParameterError, match="a reason for is_silent"):
        checks(Axes, expected_failures={"is_silent": ""})


def test_a_skipped_check_is_not_an_expected_failure():
    expected = {"trustworthiness_is_as_promised": "not yet"}
    check = next(c for c in checks(Axes, expected_failures=expected) if c.reason)
    with pytest.raises(SkipTest):
        check()


def test_checks_are_named_and_hashable():
    found = checks(Axes)
    assert [str(check) for check in found] == NAMES
    assert len(set(found)) == len(NAMES)
    assert repr(found[0]) == "<check parameters_are_keywords of Axes>"
    assert {check.group for check in found} == {
        "contract",
        "fitting",
        "inputs",
        "honesty",
        "invariance",
        "transforming",
        "quality",
        "hygiene",
    }


def test_the_instance_given_is_left_alone():
    model = Axes(n_components=1)
    run_checks(model)
    assert vars(model) == vars(Axes(n_components=1))


def test_only_reducers_are_checked():
    with pytest.raises(TypeError, match=r"dict is not a manifold_lab\.Reducer"):
        checks(dict)


def test_warnings_of_the_method_do_not_fail_a_check():
    class Anxious(Axes):
        """Warn at every fit."""

        def _fit(self, X, y):
            super()._fit(X, y)
            warn(GraphWarning("poor"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed = [name for name, outcome, _ in run_checks(Anxious) if outcome == "failed"]
    assert failed == ["pickles"]  # a local class has no importable name


def test_an_effect_may_need_another_parameter():
    class Conditional(Axes):
        """Use the seed only when the result is flipped."""

        no_effect = {}

        def _fit(self, X, y):
            super()._fit(X, y)
            self.drawn_ = self.random_state if self.flip else None

    outcomes = {name: (outcome, text) for name, outcome, text in run_checks(Conditional)}
    assert outcomes["every_parameter_has_an_effect"] == ("passed", "")


def test_opting_out_of_an_invariance_skips_its_check():
    class Anchored(Uncentred):
        """Say that the origin matters."""

        invariances = ("permutation", "rotation")

    outcomes = {name: outcome for name, outcome, _ in run_checks(Anchored)}
    assert outcomes["translation_does_not_matter"] == "skipped"
    assert outcomes["rotation_does_not_matter"] == "passed"


def test_pandas_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    skipped = {name: text for name, outcome, text in run_checks(Axes) if outcome == "skipped"}
    assert skipped["set_output_gives_frames"] == "pandas is not installed"
    assert skipped["data_frame_is_accepted"] == "pandas is not installed"


def test_a_pairwise_reducer_is_given_distances():
    class Centre(Reducer):
        """Embed by classical scaling of distances."""

        pairwise = True
        n_components: int = param(2, Int(1, 5))

        def _fit(self, X, y):
            if X.shape[0] != X.shape[1]:
                raise ParameterError(f"X must be square, not {X.shape}.")
            B = X**2
            B = -0.5 * (B - B.mean(axis=0) - B.mean(axis=1)[:, None] + B.mean())
            values, vectors = np.linalg.eigh(0.5 * (B + B.T))
            top = vectors[:, ::-1][:, : self.n_components]
            return top * np.sqrt(values[::-1][: self.n_components])

    failed = {n: t for n, o, t in run_checks(Centre) if o == "failed"}
    assert set(failed) == {"pickles"}, failed  # a local class has no importable name


@pytest.mark.parametrize(
    ("a", "b", "where"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), None),
        (np.array([1.0]), np.array([1.0 + 1e-15]), "values differ by up to 1.11e-15"),
        (np.zeros(2), np.zeros(2, dtype=np.float32), "float64(2,) against float32(2,)"),
        ({"a": 1}, {"a": 1, "b": 2}, "names ['b'] on one side only"),
        ({"a": [1, (2, 3)]}, {"a": [1, (2, 4)]}, "it['a'][1][1]: 3 against 4"),
        ([1], [1, 2], "length 1 against 2"),
        (1, 1.0, "int against float"),
        (float("nan"), float("nan"), None),
        (Axes(scale=2.0), Axes(scale=3.0), "it['scale']: 2.0 against 3.0"),
        (np.random.default_rng(0), np.random.default_rng(1), "against"),
        (np.random.RandomState(0), np.random.RandomState(0), None),
        (np.array(["a"]), np.array(["b"]), "values differ"),
    ],
)
def test_difference_says_where(a, b, where):
    found = subject.difference(a, b)
    if where is None:
        assert found is None
    else:
        assert where in found
