"""Every exception and warning of the package.

Each error also derives from the built-in a caller would expect, so ``except ValueError`` works.
A message says three things: what was seen, what is wanted, what to change.
"""

import sys
import warnings

from manifold_lab._interop import Bridged


class ManifoldLabError(Exception):
    """Root of every error raised by manifold_lab."""


class ParameterError(ManifoldLabError, ValueError):
    """A parameter or an input is outside what the method accepts."""


class NotFittedError(Bridged, ManifoldLabError, ValueError, AttributeError):
    """The estimator was used before ``fit``."""


class _LookupError(ManifoldLabError, KeyError):
    def __str__(self):  # KeyError would print the repr, quotes and escapes included
        return str(self.args[0]) if self.args else ""


class UnknownReducer(_LookupError):
    """No method of that name is installed."""


class AmbiguousReducer(_LookupError):
    """Two plugins offer the same name; ask for one by its qualified name."""


class NameTakenError(ManifoldLabError, ValueError):
    """A name given to ``register`` is already in use."""


class PluginLoadError(ManifoldLabError, ImportError):
    """A plugin could not be imported, or is not a usable Reducer."""

    distribution = version = target = None  #: whose plugin it was, and where its class should be


class DisconnectedGraph(ManifoldLabError, ValueError):
    """The neighbour graph falls apart and ``disconnected="raise"`` was asked for."""


class MemoryBudgetError(ManifoldLabError, MemoryError):
    """The work would need more memory than there is; refused before it starts."""


class ModelFileError(ManifoldLabError, ValueError):
    """A model file is damaged, hostile, or of a kind this version cannot read."""


class MissingExtraError(ManifoldLabError, ImportError):
    """An optional dependency is missing; the message has the pip command."""


class ManifoldLabWarning(UserWarning):
    """Root of every warning: the result exists, but may be poor."""


class ConvergenceWarning(Bridged, ManifoldLabWarning):
    """An iteration stopped before it converged."""


class DataConversionWarning(Bridged, ManifoldLabWarning):
    """The input was reshaped or converted on the way in."""


class DegenerateDataWarning(ManifoldLabWarning):
    """The data has fewer directions than asked for, or none."""


class SpectrumWarning(ManifoldLabWarning):
    """Eigenvalues were clipped, or a variance cannot be represented."""


class GraphWarning(ManifoldLabWarning):
    """The neighbour graph is not what the method needs."""


class PairsWarning(ManifoldLabWarning):
    """Must-link or cannot-link pairs were dropped or contradict each other."""


def warn(warning):
    """Issue ``warning`` (an instance) at the line of the user's call, however deep we are.

    That line is the first one outside the package, going up from here; a plugin's own frames
    come before the package's, and are passed over too.
    """
    frame, level, inside = sys._getframe(1), 2, False
    while frame is not None:
        ours = f"{frame.f_globals.get('__name__')}.".startswith("manifold_lab.")
        if inside and not ours:
            break
        frame, level, inside = frame.f_back, level + 1, inside or ours
    warnings.warn(warning, stacklevel=level if inside else 2)
