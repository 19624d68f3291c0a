"""`snellen view`: look at runs, sample by sample, side by side."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def view(
    runs: Annotated[list[str], typer.Argument(help="One to four runs of the same samples.", show_default=False)],
    host: Annotated[str, typer.Option(help="Address to listen on; another than loopback shows the runs to others.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
    page: Annotated[
        bool, typer.Option("--report/--no-report", help="Serve the report as well; it is made when looked at.")
    ] = True,
) -> None:
    """Serves a page on this machine alone: search, filters, pictures beside replies and boxes, keys j k / b.

    Its address says what is shown, so that it can be sent on. Nothing is written; Ctrl-C ends it.

    Examples:

      snellen view runs/exam

      snellen view runs/a runs/b --port 8000
    """
    from snellen.report.pages import report
    from snellen.runs.store import Run
    from snellen.web.browse import Browser
    from snellen.web.viewer import LateReport, serve

    opened = [Run.open(run) for run in runs]
    browser = Browser(opened)
    with tempfile.TemporaryDirectory(prefix="snellen-view-", ignore_cleanup_errors=True) as folder:
        late = LateReport(lambda: report(opened, Path(folder) / "report").parent)
        server = serve(browser, host=host, port=port, report=late if page else None)
        address, bound = server.server_address[:2]
        typer.echo(f"http://{address!s}:{bound}/    Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("ended")
        finally:
            server.server_close()
