"""Tables, figures and pages of runs.

`from snellen import report` finds this package, which has the name of the function: called, it is `pages.report`.
"""

import sys
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        """Writes the pages of runs: `snellen.report.pages.report`."""
        from snellen.report.pages import report

        return report(*args, **options)


sys.modules[__name__].__class__ = _Report
