"""Snellen: the eye exam for vision models.

    from snellen import ModelSpec, build_model, open_task, report, run, score

    task = open_task({"task": "civet/single-object"})
    model = build_model(ModelSpec.parse("observer/24px"))
    done = run(task, model, "runs/observer", sample=400)
    print(score(done).metrics["accuracy"])
    report([done], "report")

The parts are imported when they are used: `import snellen` loads none of the heavy libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snellen.core.errors import SnellenError as SnellenError
    from snellen.core.specs import ModelSpec as ModelSpec
    from snellen.datasets.load import load_data as load_data
    from snellen.evals.comparison import compare_runs as compare
    from snellen.evals.imports import import_file as import_predictions
    from snellen.evals.scores import score as score
    from snellen.evals.tasks import open_task as open_task
    from snellen.models.table import build as build_model
    from snellen.report.pages import report as report
    from snellen.runs.loop import run as run
    from snellen.runs.store import Run as Run

__version__ = "0.1.0"

_PUBLIC = {
    "ModelSpec": ("snellen.core.specs", "ModelSpec"),
    "Run": ("snellen.runs.store", "Run"),
    "SnellenError": ("snellen.core.errors", "SnellenError"),
    "build_model": ("snellen.models.table", "build"),
    "compare": ("snellen.evals.comparison", "compare_runs"),
    "import_predictions": ("snellen.evals.imports", "import_file"),
    "load_data": ("snellen.datasets.load", "load_data"),
    "open_task": ("snellen.evals.tasks", "open_task"),
    "report": ("snellen.report.pages", "report"),
    "run": ("snellen.runs.loop", "run"),
    "score": ("snellen.evals.scores", "score"),
}

__all__ = [
    "ModelSpec",
    "Run",
    "SnellenError",
    "build_model",
    "compare",
    "import_predictions",
    "load_data",
    "open_task",
    "report",
    "run",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"snellen has no {name!r}; it has: {', '.join(__all__)}")
    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
