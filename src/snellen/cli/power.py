"""`snellen power`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from snellen.core.errors import SpecError

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")

WIDTHS = (0.05, 0.03, 0.02, 0.01)
"""Half-widths that are answered where nothing else is asked."""


@app.command(no_args_is_help=True)
def power(
    accuracy: Annotated[float, typer.Option(help="The accuracy expected, 0..1.", show_default=False)],
    versus: Annotated[
        float | None, typer.Option(help="The other model's accuracy: plan a comparison.", show_default=False)
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="With so many samples: what can be told?", min=1, show_default=False)
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="How many samples for an interval of +- this?", show_default=False)
    ] = None,
    correlation: Annotated[float, typer.Option(help="Of the two models being right (phi); 0: unrelated.")] = 0.5,
    per_scene: Annotated[float, typer.Option(help="Samples (questions) that share a scene.")] = 1.0,
    icc: Annotated[float, typer.Option(help="How alike they are, 0..1 (intra-cluster correlation).")] = 0.0,
    chance: Annotated[float, typer.Option("--power", help="Probability of finding the difference.")] = 0.8,
    level: Annotated[float, typer.Option(help="Level of the interval; the test is at 1 - level.")] = 0.95,
    json_: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """How many samples a result needs, or what so many samples can tell. No model is asked.

    Samples for intervals of +-5, 3, 2 and 1 points:  snellen power --accuracy .8

    Samples for +-2.5 points:  snellen power --accuracy .8 --within .025

    Samples to tell two models apart (paired, exact McNemar):  snellen power --accuracy .80 --versus .83

    What 500 samples can tell:  snellen power --accuracy .80 --versus .83 --samples 500

    Four questions on each scene:  snellen power --accuracy .8 --samples 4000 --per-scene 4 --icc .3 --json
    """
    _check(accuracy, versus, correlation, chance, level)
    found = plan(
        accuracy, versus=versus, samples=samples, within=within, correlation=correlation, per_scene=per_scene, icc=icc,
        power=chance, level=level,
    )  # fmt: skip
    typer.echo(json.dumps(found) if json_ else "\n".join(sentences(found)))


def plan(
    accuracy: float,
    *,
    versus: float | None,
    samples: int | None,
    within: float | None,
    correlation: float,
    per_scene: float,
    icc: float,
    power: float,
    level: float,
) -> dict[str, Any]:
    """What was asked and everything that follows from it, as plain JSON."""
    from snellen.statistics import power as of

    effect = of.design_effect(per_scene, icc)
    out: dict[str, Any] = {"accuracy": accuracy, "level": level, "design_effect": effect}
    if samples is not None:
        out |= {"samples": samples, "worth": samples / effect}
        out["half_width"] = of.half_width(accuracy, samples / effect, level=level)
    widths = [within] if within is not None else WIDTHS if samples is None and versus is None else ()
    out["samples_for_half_width"] = {
        f"{half:g}": _scaled(of.samples_for_width(accuracy, half, level=level), effect) for half in widths
    }
    if versus is not None:
        only_a, only_b = of.disagreement(accuracy, versus, correlation=correlation)
        out |= {"versus": versus, "power": power, "only_a": only_a, "only_b": only_b, "correlation": correlation}
        needed = of.samples_for_gap(only_a, only_b, power=power, level=level)
        out["samples_for_gap"] = _scaled(needed, effect)
        if samples is not None:
            worth = max(1, int(samples / effect))
            out["chance_to_find"] = of.mcnemar_power(worth, only_a, only_b, level=level)
            out["smallest_gap"] = of.gap_for_samples(worth, only_a + only_b, power=power, level=level)
    return out


def sentences(found: dict[str, Any]) -> list[str]:
    """The plan in words."""
    percent, out = f"{100 * found['level']:g} %", []
    if found["design_effect"] != 1:
        out.append(f"Samples that share a scene count for less: {found['design_effect']:.2f} are worth one.")
    if "samples" in found:
        out.append(
            f"{found['samples']:,} samples at accuracy {found['accuracy']:g}: a {percent} interval of about "
            f"+-{100 * found['half_width']:.1f} points."
        )
    for half, n in found["samples_for_half_width"].items():
        out.append(f"+-{100 * float(half):g} points at accuracy {found['accuracy']:g}: {n:,} samples.")
    if "versus" in found:
        out.append(
            f"{found['accuracy']:g} against {found['versus']:g}, alone right on {100 * found['only_a']:.1f} and "
            f"{100 * found['only_b']:.1f} % of the samples: {found['samples_for_gap']:,} samples find the difference "
            f"with a chance of {100 * found['power']:.0f} % (exact McNemar, two-sided, {1 - found['level']:.2g})."
        )
    if "chance_to_find" in found:
        gap = found["smallest_gap"]
        shown = "no gap at all" if gap is None else f"gaps of {100 * gap:.1f} points and more"
        out.append(
            f"With {found['samples']:,} samples that chance is {100 * found['chance_to_find']:.0f} %; "
            f"at {100 * found['power']:.0f} % they show {shown}."
        )
    return out


def _scaled(n: int, effect: float) -> int:
    return -int(-(n * effect) // 1)


def _check(accuracy: float, versus: float | None, correlation: float, chance: float, level: float) -> None:
    shares = {"--accuracy": accuracy, "--versus": versus, "--power": chance, "--level": level}
    for name, value in shares.items():
        if value is not None and not 0 < value < 1:
            hint = f" (for {value:g} % write {value / 100:g})" if value > 1 else ""
            raise SpecError(f"{name} lies between 0 and 1, got {value:g}{hint}")
    if not -1 <= correlation <= 1:
        raise SpecError(f"--correlation lies in -1..1, got {correlation:g}")
