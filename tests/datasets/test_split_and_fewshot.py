"""Splits keep sites whole and lookalikes together; few-shot sets hold exactly K boxes where that can be."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from snellen.core.detections import BoxTable
from snellen.core.errors import DataError, SpecError
from snellen.core.pictures import Picture, Size
from snellen.core.tables import Table
from snellen.datasets import lookalikes
from snellen.datasets.dataset import Dataset
from snellen.datasets.fewshot import few_shot, labelled_share
from snellen.datasets.load import load_data
from snellen.datasets.lookalikes import Looks, look, pairs
from snellen.datasets.split import assign, split_data, with_groups
from snellen.datasets.write import write_data


def png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@lru_cache(maxsize=100)
def drawn(seed: int) -> bytes:
    return png(scene(seed))


def scene(seed: int) -> Image.Image:
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, size=(9, 12, 3), dtype=np.uint8))
    return small.resize((240, 180), Image.Resampling.BICUBIC)


def dataset(counts: list[list[int]], *, sites: list[str] | None = None, sides: list[int] | None = None) -> Dataset:
    """An image per row of `counts` (boxes per class); the boxes of image i are `sides[i]` px wide."""
    rows = [(i, k) for i, row in enumerate(counts) for k, n in enumerate(row) for _ in range(n)]
    side = np.array([(sides or [10] * len(counts))[i] for i, _ in rows], dtype=np.float64)
    names = tuple(f"{i}.png" for i in range(len(counts)))
    table = BoxTable(
        names,
        tuple("abcdefgh"[: len(counts[0])]),
        np.array([i for i, _ in rows], dtype=np.int64),
        np.array([k for _, k in rows], dtype=np.int64),
        np.column_stack([np.zeros(len(rows)), np.zeros(len(rows)), side, side]),
    )
    pictures = [Picture(name, lambda i=i: drawn(i), Size(240, 180)) for i, name in enumerate(names)]
    return Dataset("d", pictures, table, Table({"site": sites} if sites else {}), "", "made", Path("made"))


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=6, max_size=40), seed=st.integers(0, 5))
def test_groups_stay_whole_and_parts_come_as_close_as_the_groups_allow(sizes: list[int], seed: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    shares = [0.75, 0.10, 0.15]
    part = assign(groups, shares, rng=np.random.default_rng(seed))
    assert all(len(set(part[groups == g].tolist())) == 1 for g in range(len(sizes)))
    counts = np.bincount(part, minlength=3)
    assert (counts > 0).all()
    gap = np.abs(counts - np.array(shares) * len(groups)).max()
    assert gap <= max(sizes)
    assert (part == assign(groups, shares, rng=np.random.default_rng(seed))).all()


def test_the_papers_numbers_are_met_with_five_hundred_sites() -> None:
    rng = np.random.default_rng(0)
    groups = np.concatenate([np.arange(500), rng.choice(500, size=2167 - 500, p=rng.dirichlet(np.ones(500)))])
    part = assign(groups, [75, 10, 15], rng=np.random.default_rng(1))
    counts = np.bincount(part)
    assert np.abs(counts - np.array([1625, 217, 325])).max() <= 1


def test_a_split_by_site_reports_what_was_achieved() -> None:
    sites = [f"pond {i // 3}" for i in range(60)]
    data = dataset([[1, 2]] * 60, sites=sites)
    split = split_data(data, seed=3)
    assert split.by == "site"
    by_site: dict[str, set[str]] = {}
    for sample in split.dataset.samples():
        by_site.setdefault(str(sample.attributes["site"]), set()).add(str(sample.attributes["split"]))
    assert all(len(parts) == 1 for parts in by_site.values())
    assert split.images == {"train": 45, "valid": 6, "test": 9}
    assert split.classes["test"] == {"a": 9, "b": 18}
    assert split.to_json()["parts"]["train"]["achieved"] == 0.75


def test_lookalikes_of_two_sites_are_kept_in_one_part() -> None:
    data = dataset([[1]] * 12, sites=[f"s{i}" for i in range(12)])
    buffer = io.BytesIO()
    scene(0).save(buffer, "JPEG", quality=60)
    pictures = [*data.pictures[:-1], Picture("11.png", buffer.getvalue, Size(240, 180))]
    twin = Dataset(data.name, pictures, data.truth, data.attributes, "", "made", data.source)
    for seed in range(5):
        split = split_data(twin, ratios={"train": 1, "test": 1}, seed=seed)
        column = split.dataset.attributes["split"]
        assert column[0] == column[11]
        assert split.joined == (("0.png", "11.png"),)
    apart = [split_data(twin, ratios={"train": 1, "test": 1}, seed=s, lookalikes=False) for s in range(8)]
    assert any(s.dataset.attributes["split"][0] != s.dataset.attributes["split"][11] for s in apart)


CHANGES = {
    "saved again as a poor jpeg": lambda image: image,
    "half as large": lambda image: image.resize((120, 90), Image.Resampling.BILINEAR),
    "a little brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.15),
    "less contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.8),
    "grey": lambda image: image.convert("L"),
    "one pixel cropped all round": lambda image: image.crop((1, 1, 239, 179)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_picture_is_still_known_again_among_forty(name: str) -> None:
    pictures = [Picture(str(i), lambda i=i: drawn(i)) for i in range(40)]
    buffer = io.BytesIO()
    CHANGES[name](scene(7)).save(buffer, "JPEG", quality=40)
    pictures.append(Picture("changed", buffer.getvalue))
    assert [(pair.first, pair.second, pair.same) for pair in pairs(look(pictures))] == [(7, 40, False)]


def test_flat_pictures_are_not_taken_for_each_other_unless_the_files_are_equal() -> None:
    def fog(value: int) -> bytes:
        return png(Image.new("RGB", (50, 50), (value,) * 3))

    pictures = [Picture(str(v), lambda v=v: fog(v)) for v in (10, 11, 200, 10)]
    looks = look([*pictures, Picture("bad", lambda: b"no picture")])
    assert [(pair.first, pair.second, pair.same) for pair in pairs(looks)] == [(0, 3, True)]
    assert list(looks.problems) == [4]
    assert pairs(look([])) == []


def test_a_crowd_of_frames_is_told_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookalikes, "CROWD", 20)
    rng = np.random.default_rng(0)
    base = np.asarray(scene(1).convert("L").resize((32, 32))).astype(int)
    frames = np.clip(base + rng.integers(-3, 4, size=(200, 32, 32)), 0, 255).astype(np.uint8)
    others = np.stack([np.asarray(scene(i).convert("L").resize((32, 32))) for i in range(50, 60)])
    looks = Looks(np.concatenate([frames, others]), tuple(f"{i}" for i in range(210)), {})
    found = pairs(looks)
    assert len(found) < 200 * 199 / 8  # of 200 * 199 / 2 pairs
    assert {pair.second for pair in found} == set(range(1, 200))
    assert {pair.first for pair in found} <= set(range(200))
    parts = [0] * 100 + [1] * 100 + [1] * 10
    crossing = pairs(looks, groups=parts)
    assert {p.first for p in crossing} | {p.second for p in crossing} == set(range(200))
    assert all(parts[p.first] != parts[p.second] for p in crossing)


def test_pairs_between_groups_alone_can_be_asked_for() -> None:
    looks = look([Picture(str(i), lambda i=i: drawn(i % 2)) for i in range(4)])
    assert [(p.first, p.second) for p in pairs(looks)] == [(0, 2), (1, 3)]
    assert [(p.first, p.second) for p in pairs(looks, groups=[0, 0, 0, 1])] == [(1, 3)]


def test_sites_may_come_from_a_table_or_from_the_folders(tmp_path: Path) -> None:
    data = dataset([[1]] * 8)
    table = tmp_path / "sites.csv"
    table.write_text("image,site\n" + "".join(f"{i}.png,pond {i // 2}\n" for i in range(8)))
    split = split_data(with_groups(data, table), ratios={"a": 1, "b": 1}, lookalikes=False)
    assert split.by == "site"
    assert split.groups == {"a": 2, "b": 2}
    table.write_text("image,site\n0.png,x\n")
    with pytest.raises(DataError, match=r"7 pictures have no line: 1\.png"):
        with_groups(data, table)
    names = tuple(f"{'ab'[i % 2]}/{i}.png" for i in range(8))
    filed = replace(data, truth=replace(data.truth, images=names))
    assert split_data(filed, by="folder", ratios={"x": 1, "y": 1}, lookalikes=False).groups == {"x": 1, "y": 1}


def test_splits_that_cannot_be_are_refused() -> None:
    data = dataset([[1]] * 4, sites=["a", "a", "b", "b"])
    with pytest.raises(DataError, match="2 groups cannot fill 3 parts"):
        split_data(data)
    with pytest.raises(SpecError, match="no attribute 'pond'; there are: site"):
        split_data(data, by="pond")
    with pytest.raises(SpecError, match="positive"):
        split_data(data, ratios={"train": 1, "test": 0})


def test_k_boxes_exactly_where_whole_images_can_make_them() -> None:
    data = dataset([[3, 1], [2, 0], [4, 1], [1, 1], [5, 0]])
    for seed in range(10):
        found = few_shot(data, 5, seed=seed)
        assert found.shots["a"].boxes == 5
        assert found.shots["b"].boxes == found.shots["b"].available == 3
        assert [f.code for f in found.findings] == ["fewshot-few"]
        for i, sample in enumerate(found.dataset.samples()):
            known = {name for k, name in enumerate(data.classes) if found.dataset.known[i, k]}
            assert known
            assert set(sample.truth.labels) <= known
            original = data.truth.images.index(sample.id)
            for name in known:
                whole = int(((data.truth.image == original) & (data.truth.label == data.classes.index(name))).sum())
                assert sample.truth.labels.count(name) == whole


def test_of_the_candidates_the_one_with_the_largest_boxes_is_kept() -> None:
    data = dataset([[1]] * 30, sides=list(range(1, 31)))
    for seed in range(5):
        shot = few_shot(data, 3, candidates=8, seed=seed).shots["a"]
        assert len(shot.areas) == 8
        chosen = np.mean([(image + 1) ** 2 for image in shot.images])
        assert chosen == pytest.approx(max(shot.areas))


EDGES = {
    "every image holds more": ([[7], [6], [9]], 5, 6, "fewshot-excess"),
    "fewer than k": ([[1], [2]], 5, 3, "fewshot-few"),
    "no sum is k": ([[4], [4], [4]], 6, 4, "fewshot-short"),
    "none at all": ([[0], [0]], 5, 0, "fewshot-none"),
}


@pytest.mark.parametrize("name", EDGES)
def test_where_k_cannot_be_the_nearest_is_taken_and_told(name: str) -> None:
    counts, k, boxes, code = EDGES[name]
    found = few_shot(dataset(counts), k)
    assert found.shots["a"].boxes == boxes
    assert [finding.code for finding in found.findings] == [code]


@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=12), k=st.integers(1, 12))
def test_exactly_k_is_found_whenever_it_exists(counts: list[int], k: int) -> None:
    sums = {0}
    for n in counts:
        sums |= {s + n for s in sums}
    boxes = few_shot(dataset([[n] for n in counts]), k, candidates=2).shots["a"].boxes
    positive = [n for n in counts if n]
    if sum(positive) <= k:
        assert boxes == sum(positive)
    elif min(positive) > k:
        assert boxes == min(positive)
    else:
        assert boxes == max(s for s in sums if s <= k)


def test_known_classes_are_written_and_read_again(tmp_path: Path) -> None:
    data = dataset([[3, 1], [2, 0], [4, 1], [1, 1], [5, 0]])
    few = few_shot(data, 4).dataset
    write_data(few, tmp_path / "few", format="coco")
    again = load_data(tmp_path / "few")
    assert again.known is not None
    assert (again.known == few.known).all()
    lost = write_data(few, tmp_path / "yolo", format="yolo", pictures="none")
    assert any("not known" in finding.message for finding in lost.findings)


def test_a_labelled_share_keeps_its_boxes_and_the_rest_none() -> None:
    data = dataset([[2]] * 25)
    semi = labelled_share(data, 0.1, seed=1)
    column = semi.attributes["split"]
    assert (column == "labelled").sum() == 2
    assert len(semi.truth) == 4
    assert set(column[np.unique(semi.truth.image)].tolist()) == {"labelled"}
    assert (labelled_share(data, 0.001).attributes["split"] == "labelled").sum() == 1
    with pytest.raises(SpecError, match="above 0"):
        labelled_share(data, 0)


def test_the_command_line_splits_and_says_what_it_achieved(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from snellen.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(
            [
                "data",
                "split",
                str(shared / "data/deeppcb_subset"),
                "--out",
                str(tmp_path / "s"),
                "--pictures",
                "none",
                "--json",
            ]
        )
    assert ended.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    assert {name: part["images"] for name, part in facts["parts"].items()} == {"train": 75, "valid": 10, "test": 15}
    assert load_data(tmp_path / "s", split="test", images=shared / "data/deeppcb_subset/PCBData").truth.images
