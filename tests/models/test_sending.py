from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError
from snellen.core.pictures import Picture, Size
from snellen.models.sending import Prepared, prepare

NOISE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)


def encoded(image: Image.Image, form: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(NOISE), "JPEG", exif=exif)


RGB = Image.fromarray(NOISE)
UNCHANGED = {
    "png": encoded(RGB, "PNG"),
    "jpeg": encoded(RGB, "JPEG"),
    "grey": encoded(RGB.convert("L"), "PNG"),
    "palette": encoded(RGB.convert("P"), "PNG"),
    "bilevel": encoded(RGB.convert("1"), "PNG"),
}
MADE_PLAIN = {
    "turned by EXIF": (turned(), "image/jpeg", (20, 30)),
    "alpha": (encoded(RGB.convert("RGBA"), "PNG"), "image/png", (30, 20)),
    "palette with a clear colour": (encoded(RGB.convert("P"), "PNG", transparency=0), "image/png", (30, 20)),
    "16 bit": (encoded(Image.fromarray(np.full((20, 30), 30000, np.uint16)), "PNG"), "image/png", (30, 20)),
    "CMYK": (encoded(RGB.convert("CMYK"), "JPEG"), "image/jpeg", (30, 20)),
    "webp": (encoded(RGB, "WEBP"), "image/png", (30, 20)),
    "bmp": (encoded(RGB, "BMP"), "image/png", (30, 20)),
    "gif": (encoded(RGB, "GIF"), "image/png", (30, 20)),
}


def picture(data: bytes, name: str = "p") -> Picture:
    return Picture(name, lambda: data)


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_every_reader_sees_alike_is_sent_as_it_is(name) -> None:
    sent = prepare(picture(UNCHANGED[name]), max_pixels=600)
    assert sent.data == UNCHANGED[name]
    assert sent.size == Size(30, 20)


@pytest.mark.parametrize("name", MADE_PLAIN)
def test_anything_else_becomes_the_upright_rgb_that_a_person_sees(name) -> None:
    data, media, size = MADE_PLAIN[name]
    sent = prepare(picture(data))
    shown = Image.open(io.BytesIO(sent.data))
    assert (sent.media, sent.size, shown.size, shown.mode) == (media, size, size, "RGB")
    assert shown.getexif().get(0x0112, 1) == 1
    wanted = np.asarray(picture(data).image(), dtype=float)
    assert np.abs(np.asarray(shown, dtype=float) - wanted).mean() < (0.01 if media == "image/png" else 12)


def test_max_pixels_keeps_the_shape_and_never_scales_up() -> None:
    assert prepare(picture(UNCHANGED["png"]), max_pixels=150).size == Size(15, 10)
    assert prepare(picture(UNCHANGED["png"]), max_pixels=10**9).size == Size(30, 20)


def test_too_many_bytes_are_told() -> None:
    with pytest.raises(DataError, match="more than max_bytes=100: p"):
        prepare(picture(UNCHANGED["png"]), max_bytes=100)


@pytest.mark.parametrize("data", [b"", b"text", UNCHANGED["png"][:300]], ids=["empty", "text", "cut"])
def test_a_damaged_picture_is_an_error_that_names_it(data) -> None:
    with pytest.raises(DataError, match="p"):
        prepare(picture(data), max_pixels=100)


def test_the_memory_of_pictures_goes_by_identity_not_by_name() -> None:
    pictures = Prepared()
    one, two = picture(UNCHANGED["png"], "same"), picture(UNCHANGED["grey"], "same")
    assert pictures.url(one) != pictures.url(two)
    assert pictures.url(one) == pictures.url(one)
