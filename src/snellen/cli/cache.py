"""`snellen cache`: what the cache of replies holds, and clearing it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Forget all replies, or those of --model.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="provider/name: only its replies.", show_default=False)
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What this machine's cache of replies holds (`snellen run --cache` fills and uses it).

    It lies in $SNELLEN_CACHE, else in snellen/replies.sqlite in your cache folder. Failures are never kept.

    Examples:

      snellen cache

      snellen cache --clear --model openai/my-vlm
    """
    from snellen.models.cache import ReplyCache, cache_file

    held = ReplyCache(cache_file())
    gone = held.clear(model=model) if clear else None
    size = held.size()
    models = {name: count for name, count in size.models if model in {None, name}}
    if json_:
        facts = {"path": str(held.path), "replies": size.replies, "bytes": size.bytes, "models": models}
        typer.echo(json.dumps(facts if gone is None else {**facts, "forgotten": gone}))
        return
    if gone is not None:
        typer.echo(f"{gone:,} replies forgotten")
    typer.echo(f"{size.replies:,} replies, {size.bytes / 2**20:.1f} MiB: {held.path}")
    for name, count in models.items():
        typer.echo(f"  {name}  {count:,}")
