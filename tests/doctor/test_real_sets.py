"""The doctor on real sets, and on other tools' faulty ones: what their sources admit, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examined import by_code, errors
from snellen.doctor.examine import examine


def test_bccds_two_degenerate_boxes_and_nothing_else(shared: Path) -> None:
    found = examine(shared / "data/bccd")
    assert errors(found) == {"zero-area-box"}
    places = [finding.examples[0] for finding, _ in by_code(found)["zero-area-box"]]
    assert sorted(places) == [
        "box 13 of BloodImage_00338.jpg [504, 337, 504, 337]",
        "box 4 of BloodImage_00343.jpg [181, 329, 181, 329]",
    ]
    for _, (effect,) in by_code(found)["zero-area-box"]:
        assert effect.f1[1] == effect.ap[1] == 1.0
        assert 0.99 < effect.ap[0] < 1
    assert found.counts == {"errors": 2, "warnings": 0, "notes": 0}


def test_the_roboflow_export_as_its_source_describes_it(shared: Path) -> None:
    found = by_code(examine(shared / "data/roboflow_dry_wet_waste"), "test")
    ((root, (effect,)),) = found["unused-root-category"]
    assert root.examples == ("waste",)
    assert effect.ap == pytest.approx((2 / 3, 1.0))
    ((_, (zero,)),) = found["annotation-id-zero"]
    expected = json.loads((shared / "data/roboflow_dry_wet_waste/EXPECTED.json").read_text())
    wrong = expected["test/_annotations.coco.json|perfect_predictions"]["pycocotools_as_is"]["AP"]
    assert zero.ap == pytest.approx((wrong, 1.0), abs=1e-11)
    assert "107 of 290" in found["images-without-objects"][0][0].message
    assert "image-id-zero" in found
    assert found["fractional-boxes"][0][0].count > 0


def test_deeppcbs_stems_differ_and_its_pictures_are_grey(shared: Path) -> None:
    found = examine(shared / "data/deeppcb_subset")
    assert errors(found) == set()
    codes = by_code(found)
    assert "stems-differ" in codes
    assert "grey" in codes["kind-of-picture"][0][0].message


def test_taco_official(shared: Path) -> None:
    found = examine(shared / "data/taco_annotations/data/annotations.json")
    codes = by_code(found)
    ((doubled, (effect,)),) = codes["duplicate-annotation-id"]
    assert doubled.examples == ("309", "4040")
    assert effect.ap[0] < effect.ap[1] == 1.0
    assert codes["leaving-box"][0][0].count == 7
    assert all("[-" in place or ", -" in place for place in codes["leaving-box"][0][0].examples)
    assert errors(found) == {"duplicate-annotation-id"}


def test_taco_unofficial(shared: Path) -> None:
    found = examine(shared / "data/taco_annotations/data/annotations_unofficial.json")
    ((finding, (effect,)),) = by_code(found)["non-finite-box"]
    assert finding.count == 15
    assert all("[Infinity, Infinity, -Infinity, -Infinity]" in place for place in finding.examples)
    assert effect.f1[0] < effect.f1[1] == 1.0


def test_hotcocos_planted_faults(shared: Path) -> None:
    bad = by_code(examine(shared / "data/hotcoco_fixtures/healthcheck_bad.json"))
    assert {
        "duplicate-image-id",
        "duplicate-annotation-id",
        "unknown-image",
        "unknown-category",
        "size-missing",
    } <= set(bad)
    quality = by_code(examine(shared / "data/hotcoco_fixtures/healthcheck_quality.json"))
    assert {"zero-area-box", "leaving-box", "repeated-box"} <= set(quality)


def test_the_small_id_zero_case_gives_pycocotools_wrong_figure(shared: Path) -> None:
    ((_, (effect,)),) = by_code(examine(shared / "cases/files/ann_id_zero/gt.json"))["annotation-id-zero"]
    assert effect.ap == pytest.approx((0.252475247525, 1.0), abs=1e-11)


def test_a_parent_class_with_boxes_of_its_own_is_named(shared: Path) -> None:
    codes = by_code(examine(shared / "cases/files/roboflow_root/gt_annotated_parent.json"))
    assert codes["annotated-parent"][0][0].examples == ("vehicle",)
    assert "unused-root-category" not in codes
