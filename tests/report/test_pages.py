"""Reports as a whole: every file is there, nothing comes from outside, nothing from a model becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jsonschema import ValidationError

from snellen.core.errors import InputError, StoreError
from snellen.report.figures import Figure
from snellen.report.inputs import views_of
from snellen.report.pages import prepare, report
from snellen.runs.store import Run
from vega_lite import check, check_report

VOID = {"meta", "link", "img", "br", "input", "hr"}


class Page(HTMLParser):
    """Collects what the tests ask about; complains about tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == [], f"tags left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text.append(data)

    def values(self, tag: str, attribute: str) -> list[str]:
        return [value for name, attrs in self.tags if name == tag and (value := attrs.get(attribute)) is not None]


@pytest.fixture(scope="module")
def written(first_option: Run, last_option: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    return report([first_option, last_option], out, pictures=12)


def test_every_address_of_the_page_is_a_file_beside_it(written: Path) -> None:
    page = Page(written.read_text())
    addresses = page.values("a", "href") + page.values("script", "src") + page.values("link", "href")
    addresses += page.values("div", "data-src")
    assert addresses
    for address in addresses:
        assert address.startswith("#") or (written.parent / address).is_file(), address
    ids = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    assert {a[1:] for a in addresses if a.startswith("#")} <= set(ids)


def test_nothing_comes_from_the_network(written: Path) -> None:
    names = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "https://vega.github.io/schema/")
    for file in written.parent.rglob("*"):
        if file.suffix in {".html", ".css", ".js"}:
            text = file.read_text()
            for name in names:
                text = text.replace(name, "")
            assert not re.search(r"https?://|@import|url\(\s*['\"]?//", text), file


def test_figures_and_headings_are_named_for_those_who_do_not_see_them(written: Path) -> None:
    page = Page(written.read_text())
    drawings = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert drawings
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in drawings)
    assert all(attrs.get("scope") for tag, attrs in page.tags if tag == "th" and attrs.get("colspan") is None)
    assert page.values("html", "lang") == ["en"]


def test_every_figure_and_table_can_be_taken_away(written: Path) -> None:
    figures, tables = written.parent / "figures", written.parent / "tables"
    stems = {f.name.split(".")[0] for f in figures.iterdir()}
    assert stems
    assert all((figures / f"{stem}{end}").stat().st_size for stem in stems for end in (".svg", ".png", ".vl.json"))
    names = {f.stem for f in tables.iterdir()}
    assert {"headline", "accuracy-by-question", "pairs-accuracy-1", "f1-color", "statuses"} <= names
    assert all((tables / f"{name}{end}").stat().st_size for name in names for end in (".csv", ".md", ".tex"))


def test_specifications_are_valid_vega_lite(written: Path) -> None:
    assert check_report(written.parent) == {"accuracy", "answers", "cells", "confusion", "places"}
    spoilt = json.loads(next((written.parent / "figures").glob("cells-*.vl.json")).read_text())
    spoilt["layer"][0]["mark"]["type"] = "blob"
    with pytest.raises(ValidationError, match="blob"):
        check(spoilt)


def test_figures_that_look_alike_are_drawn_once_and_kept_under_every_name(
    star: dict[str, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    svg = Figure.svg

    def counted(figure: Figure) -> str:
        drawn.append(figure.json())
        return svg(figure)

    monkeypatch.setattr(Figure, "svg", counted)
    text = report([star["large"]] * 2, tmp_path, pictures=2, names=["one", "two"]).read_text()
    assert len(drawn) == len(set(drawn))
    files = {name: (tmp_path / "figures" / f"cells-shape-run-{i}.svg").read_text() for i, name in enumerate("12", 1)}
    assert files["1"] == files["2"]
    assert 'id="figure-cells-shape-run-1"' in text
    assert 'id="figure-cells-shape-run-2"' in text
    assert len(list((tmp_path / "pictures").iterdir())) == 2


def test_pictures_load_lazily_from_beside_the_page(written: Path) -> None:
    script = (written.parent / "data" / "run-1.js").read_text()
    name, _, rest = script.removeprefix("snellenGallery(").partition(", ")
    data = json.loads(rest.removesuffix(");\n"))
    assert json.loads(name) == "run-1"
    assert len(data["items"]) == 12
    assert all((written.parent / item["picture"]).is_file() for item in data["items"])
    assert {item["question"] for item in data["items"]} == {"shape", "color", "position", "sheen"}
    assert 'loading: "lazy"' in (written.parent / "assets" / "report.js").read_text()


def test_the_single_file_stands_alone(first_option: Run, tmp_path: Path) -> None:
    page = report([first_option], tmp_path, single_file=True, pictures=4)
    assert {f.name for f in tmp_path.iterdir()} == {"index.html", "report.json"}
    text = page.read_text()
    assert text.count("data:image/jpeg;base64,") == 4
    parsed = Page(text)
    assert not parsed.values("script", "src")
    assert all(href.startswith(("#", "data:")) for href in parsed.values("a", "href"))


@pytest.fixture(scope="module")
def attacked(hostile: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    return report([hostile], tmp_path_factory.mktemp("attacked"), single_file=True, pictures=5).read_text()


def test_what_models_and_files_say_never_becomes_markup(attacked: str) -> None:
    assert "<script>alert" not in attacked
    assert "&lt;script&gt;alert" in attacked
    assert "\\u003cscript\\u003ealert" in attacked


def test_failed_requests_are_shown_apart_from_bad_replies(attacked: str) -> None:
    text = " ".join(Page(attacked).text)
    assert "http-500" in text
    assert "Requests failed" in text


def test_a_report_is_written_over_an_earlier_one_and_over_nothing_else(first_option: Run, tmp_path: Path) -> None:
    out = tmp_path / "report"
    prepare(out, views_of([first_option]))
    (out / "figures").mkdir()
    (out / "figures" / "stale.svg").write_text("old")
    prepare(out, views_of([first_option]))
    assert not (out / "figures").exists()
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").write_text("precious")
    with pytest.raises(StoreError, match="this holds others"):
        report([first_option], other)
    assert (other / "chapter.tex").read_text() == "precious"


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one run"):
        report([], tmp_path)
