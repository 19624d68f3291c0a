"""What a person sees is what is loaded, whatever the file holds."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import DataError
from snellen.core.pictures import Picture, Size, decode, encode_png, fit, glimpse, measure, read_header


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def corner_picture() -> Image.Image:
    """60 x 40, black, its top left 10 x 10 red: any turn shows."""
    image = Image.new("RGB", (60, 40))
    image.paste((255, 0, 0), (0, 0, 10, 10))
    return image


def red_corner(image: Image.Image) -> tuple[str, str]:
    values = np.asarray(image).astype(int)
    rows, columns = np.nonzero((values[..., 0] > 128) & (values[..., 1] < 100))
    return (
        "top" if rows.mean() < image.height / 2 else "bottom",
        "left" if columns.mean() < image.width / 2 else "right",
    )


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("orientation", "corner", "size"),
    [
        (1, ("top", "left"), (60, 40)),
        (2, ("top", "right"), (60, 40)),
        (3, ("bottom", "right"), (60, 40)),
        (4, ("bottom", "left"), (60, 40)),
        (5, ("top", "left"), (40, 60)),
        (6, ("top", "right"), (40, 60)),
        (7, ("bottom", "right"), (40, 60)),
        (8, ("bottom", "left"), (40, 60)),
        (99, ("top", "left"), (60, 40)),
    ],
)
def test_a_picture_is_turned_as_its_exif_says_once(
    form: str, orientation: int, corner: tuple[str, str], size: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(corner_picture(), form, exif=exif)
    image = decode(data, name="x")
    assert image.size == size
    assert red_corner(image) == corner
    assert measure(data, name="x") == Size(*size)
    assert 0x0112 not in image.getexif() or image.getexif()[0x0112] in {1, 99}


def test_the_exif_case_is_shown_upright(shared: Path) -> None:
    path = shared / "cases" / "files" / "exif" / "images" / "photo.jpg"
    header = read_header(path)
    assert (header.stored, header.orientation, header.upright) == (Size(100, 40), 6, Size(40, 100))
    picture = Picture.from_file(path)
    assert picture.upright_size() == picture.image().size == (40, 100)


def deep(dtype: type, top: float) -> Image.Image:
    ramp = np.linspace(0, top, 256).astype(dtype).reshape(16, 16)
    return Image.fromarray(ramp)


RGBA_HALF = Image.new("RGBA", (4, 4), (200, 100, 50, 128))
PALETTE = Image.new("RGB", (4, 4), (0, 204, 51)).convert("P")
KINDS: dict[str, tuple[Callable[[], bytes], tuple[int, int, int], tuple[int, int, int]]] = {
    "16-bit grey png": (lambda: saved(deep(np.uint16, 65535), "PNG"), (0, 0, 0), (255, 255, 255)),
    "16-bit grey tiff": (lambda: saved(deep(np.uint16, 65535), "TIFF"), (0, 0, 0), (255, 255, 255)),
    "32-bit grey tiff": (lambda: saved(deep(np.int32, 65535), "TIFF"), (0, 0, 0), (255, 255, 255)),
    "float tiff in 0..1": (lambda: saved(deep(np.float32, 1.0), "TIFF"), (0, 0, 0), (255, 255, 255)),
    "8-bit grey": (lambda: saved(deep(np.uint8, 255), "PNG"), (0, 0, 0), (255, 255, 255)),
    "1-bit": (lambda: saved(deep(np.uint8, 255).convert("1"), "PNG"), (0, 0, 0), (255, 255, 255)),
    "palette": (lambda: saved(PALETTE, "PNG"), (0, 204, 51), (0, 204, 51)),
    "half transparent on black": (lambda: saved(RGBA_HALF, "PNG"), (100, 50, 25), (100, 50, 25)),
    "cmyk jpeg": (
        lambda: saved(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=95), (255, 0, 0), (255, 0, 0),
    ),
    "first frame of a gif": (
        lambda: saved(
            Image.new("RGB", (4, 4), (255, 0, 0)), "GIF", save_all=True,
            append_images=[Image.new("RGB", (4, 4), (0, 0, 255))],
        ),
        (255, 0, 0),
        (255, 0, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_picture_becomes_8_bit_rgb(kind: str) -> None:
    make, first, last = KINDS[kind]
    image = decode(make(), name=kind)
    assert image.mode == "RGB"
    values = np.asarray(image).astype(int)
    assert np.abs(values[0, 0] - first).max() <= 3
    assert np.abs(values[-1, -1] - last).max() <= 3


def test_a_16_bit_ramp_keeps_its_steps() -> None:
    values = np.asarray(decode(saved(deep(np.uint16, 65535), "PNG"), name="x"))[..., 0].ravel()
    assert values.tolist() == list(range(256))


WHOLE = saved(corner_picture().resize((300, 200)), "JPEG")
BROKEN = {
    "empty": (b"", "empty"),
    "text": (b"<html>not found</html>", "no known picture format"),
    "cut jpeg": (WHOLE[: len(WHOLE) // 2], "cut short"),
    "cut png": (encode_png(corner_picture())[:-30], "damaged|cut short"),
    "cut gif": (saved(corner_picture(), "GIF")[:60], "damaged|cut short|cannot be opened|no known"),
    "head alone": (WHOLE[:20], "no known|cannot be opened|cut short"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_picture_is_an_error_that_names_it(kind: str) -> None:
    data, what = BROKEN[kind]
    with pytest.raises(DataError, match=what) as caught:
        decode(data, name="folder/bad.jpg")
    assert "folder/bad.jpg" in str(caught.value)


def test_a_glimpse_is_small_upright_and_grey_and_sees_damage() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    big = corner_picture().resize((1200, 800))
    small = glimpse(saved(big, "JPEG", exif=exif), name="x", side=16)
    assert (small.mode, small.size) == ("L", (16, 16))
    values = np.asarray(small).astype(int)
    assert values[0, -1] > 50  # the red corner, turned to the top right
    assert values[-1, 0] < 10
    with pytest.raises(DataError, match="cut short"):
        glimpse(WHOLE[: len(WHOLE) // 2], name="x", side=16)


def test_a_missing_or_empty_file_is_an_error_on_looking_not_on_naming(tmp_path: Path) -> None:
    picture = Picture.from_file(tmp_path / "gone.jpg")
    with pytest.raises(DataError, match=r"gone\.jpg"):
        picture.image()
    with pytest.raises(DataError, match=r"gone\.jpg"):
        picture.upright_size()
    (tmp_path / "void.jpg").write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        Picture.from_file(tmp_path / "void.jpg").upright_size()


def test_a_damaged_exif_block_leaves_the_picture_as_it_is() -> None:
    data = saved(corner_picture(), "JPEG", exif=b"Exif\x00\x00garbage that is no TIFF header")
    assert red_corner(decode(data, name="x")) == ("top", "left")


def test_animation_is_seen_in_the_header(tmp_path: Path) -> None:
    make, _, _ = KINDS["first frame of a gif"]
    (tmp_path / "a.gif").write_bytes(make())
    assert read_header(tmp_path / "a.gif").animated
    (tmp_path / "b.png").write_bytes(encode_png(corner_picture()))
    assert not read_header(tmp_path / "b.png").animated


@pytest.mark.parametrize(
    ("size", "limit", "multiple", "expected"),
    [
        ((100, 50), None, 1, (100, 50)),
        ((100, 50), 1250, 1, (50, 25)),
        ((100, 50), 1250, 28, (28, 28)),
        ((10, 10), 500, 1, (10, 10)),
    ],
)
def test_fit_keeps_the_shape_and_the_limit(
    size: tuple[int, int], limit: int | None, multiple: int, expected: tuple[int, int]
) -> None:
    assert fit(Size(*size), limit, multiple=multiple) == expected
