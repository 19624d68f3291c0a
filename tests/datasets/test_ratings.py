"""Ratings files: what is read, and what is refused with its line."""

from __future__ import annotations

import pytest

from snellen.core.errors import DataError
from snellen.core.stages import Key
from snellen.datasets.ratings import read_ratings

PEOPLE = "sample,rater,answer\ns1,ann,top left\ns1,bob,Center\ns2,ann,center\ns2,bob,top left\n"


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="utf-8"):
        place = tmp_path / "ratings.csv"
        place.write_bytes(text.encode(encoding))
        return place

    return write


def test_a_rater_is_a_draw_where_everyone_answered_everything(written):
    found = read_ratings(written(PEOPLE))
    assert found.raters == ("ann", "bob")
    assert found.complete
    replies = dict(found.replies())
    assert replies[Key("s1", "", 1)].text == "Center"
    assert replies[Key("s2", "", 0)].text == "center"
    assert {key.draw: reply.served_by for key, reply in replies.items()} == {0: "ann", 1: "bob"}


def test_with_other_raters_for_each_sample_draws_count_its_ratings(written):
    text = "sample,rater,answer\ns1,a,x\ns1,b,y\ns2,c,x\ns2,d,x\ns2,e,y\n"
    found = read_ratings(written(text))
    assert not found.complete
    assert found.draws == 3
    assert [key for key, _ in found.replies()] == [
        Key("s1", "", 0),
        Key("s1", "", 1),
        *(Key("s2", "", i) for i in range(3)),
    ]
    assert [reply.served_by for _, reply in found.replies()] == list("abcde")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PEOPLE.replace(",", ";"), id="semicolons"),
        pytest.param(PEOPLE.replace(",", "\t"), id="tabs"),
        pytest.param("\ufeff" + PEOPLE, id="byte order mark"),
        pytest.param(PEOPLE.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(PEOPLE.replace("\n", "\r"), id="old line ends"),
        pytest.param(PEOPLE.replace("sample,rater,answer", "Image,Worker,Response"), id="other names"),
        pytest.param(PEOPLE + "\n,,\n", id="blank rows"),
        pytest.param(PEOPLE.replace("Center", '"Center"'), id="quotes"),
    ],
)
def test_files_as_people_write_them(written, text):
    found = read_ratings(written(text))
    assert [(r.sample, r.rater, r.answer) for r in found.ratings] == [
        ("s1", "ann", "top left"), ("s1", "bob", "Center"), ("s2", "ann", "center"), ("s2", "bob", "top left"),
    ]  # fmt: skip


def test_an_empty_answer_is_no_rating_and_stands_aside(written):
    found = read_ratings(written(PEOPLE.replace("Center", "")))
    assert len(found.ratings) == 3
    assert [(row.line, row.rater) for row in found.empty] == [(3, "bob")]
    assert not found.complete


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("sample,answer\ns1,x\n", "line 1: .* rater missing, there are: sample, answer", id="no rater"),
        pytest.param("", "sample and rater and answer missing, there are: none", id="empty file"),
        pytest.param("sample,rater,answer\n", "holds no ratings", id="header alone"),
        pytest.param(
            PEOPLE + "s1,ann,center\n", "line 6: rater 'ann' answers sample 's1' again .first in line 2", id="twice"
        ),
        pytest.param(
            PEOPLE + "s3,ann,x\n", r"line 6: sample 's3' is not in the exam \(1 ratings of 1 unknown", id="unknown"
        ),
        pytest.param(PEOPLE + ",ann,x\n", "line 6: a rating names its sample", id="no sample"),
        pytest.param(PEOPLE + '"s1,ann', "line 6: not CSV", id="an open quote"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(written, text, message):
    with pytest.raises(DataError, match=message):
        read_ratings(written(text), known={"s1", "s2"})


def test_a_table_in_utf_16_as_excel_saves_unicode_text_is_read(written):
    assert read_ratings(written(PEOPLE.replace(",", "\t"), "utf-16")) == read_ratings(written(PEOPLE))


def test_other_encodings_are_refused(written):
    with pytest.raises(DataError, match="this is no UTF-8 text"):
        read_ratings(written(PEOPLE.replace("ann", "ann\u00e9"), "latin-1"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings(tmp_path / "none.csv")


def test_a_file_may_bring_its_own_truth(written):
    text = (
        "sample,rater,answer,target,options,question\ns1,a,red,red,red|green,colour\ns1,b,green,red,red|green,colour\n"
    )
    (sample,) = read_ratings(written(text)).truths()
    assert (sample.id, sample.truth.target, sample.truth.options, sample.truth.question) == (
        "s1", "red", ("red", "green"), "colour",
    )  # fmt: skip


def test_two_targets_for_one_sample_are_refused(written):
    text = "sample,rater,answer,target\ns1,a,red,red\ns1,b,red,green\n"
    with pytest.raises(DataError, match="several values of target: 'red' and 'green'"):
        read_ratings(written(text)).truths()


def test_without_targets_the_exam_must_be_named(written):
    with pytest.raises(DataError, match="name the exam"):
        read_ratings(written(PEOPLE)).truths()


def test_a_target_that_is_none_of_the_options_is_refused_and_spelling_does_not_matter(written):
    text = "sample,rater,answer,target,options\ns1,a,red,{},red|top-left\n"
    with pytest.raises(DataError, match=r"'blue' is none of its options red\|top-left"):
        read_ratings(written(text.format("blue"))).truths()
    assert read_ratings(written(text.format("Top left"))).truths()


def test_a_column_that_stands_twice_is_refused(written):
    with pytest.raises(DataError, match="the column 'rater' stands twice"):
        read_ratings(written("sample,rater,Rater,answer\ns1,a,b,x\n"))


def test_line_ends_of_unicode_are_text(written):
    assert read_ratings(written("sample,rater,answer\ns1,a,x\u2028y\n")).ratings[0].answer == "x\u2028y"
