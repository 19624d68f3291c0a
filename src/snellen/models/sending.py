"""Pictures as they are sent: the file's own bytes wherever any reader sees in them what a person sees, else upright PNG
or JPEG. The size sent is told, for it is what a model's pixel coordinates may count.
"""

from __future__ import annotations

import base64
import io
from collections import OrderedDict
from typing import NamedTuple

from PIL import Image

from snellen.core.errors import DataError
from snellen.core.pictures import Picture, Size, decode, encode_png, fit

KEPT = {"PNG": "image/png", "JPEG": "image/jpeg"}
PLAIN_MODES = frozenset({"1", "L", "P", "RGB"})
ORIENTATION = 0x0112
JPEG_QUALITY = 95
LEAST_PIXELS = 28 * 28
"""The least that `max_pixels` may be: the smallest vision token in use is of 28 x 28 px."""
HELD_PICTURES, HELD_BYTES = 128, 64 * 2**20


class Sent(NamedTuple):
    """Encoded bytes, their media type, and the size in px that they show."""

    data: bytes
    media: str
    size: Size

    def url(self) -> str:
        """As a `data:` URL."""
        return f"data:{self.media};base64,{base64.b64encode(self.data).decode('ascii')}"


def prepare(picture: Picture, *, max_pixels: int | None = None, max_bytes: int | None = None) -> Sent:
    """`picture` as it is sent: unchanged where it is an upright 8-bit PNG or JPEG without transparency and within the
    limits; else upright RGB, scaled down to `max_pixels` (JPEG where it was one, else PNG). DataError where it is no
    whole picture, or still longer than `max_bytes`.
    """
    data = picture.encoded()
    form, size, plain = _look(data, picture.name)
    fits = max_pixels is None or size.pixels <= max_pixels
    if plain and fits and (max_bytes is None or len(data) <= max_bytes):
        return Sent(data, KEPT[form], size)
    image = decode(data, name=picture.name)
    target = fit(Size(*image.size), max_pixels)
    if target != image.size:
        image = image.resize(target, Image.Resampling.LANCZOS)
    small = _encode(image, form)
    if max_bytes is not None and len(small.data) > max_bytes:
        raise DataError(f"picture takes {len(small.data):,} bytes, more than max_bytes={max_bytes:,}: {picture.name}")
    return small


class Prepared:
    """`prepare` with a memory of the last pictures (by identity): example pictures are encoded once, not per prompt."""

    def __init__(self, *, max_pixels: int | None = None, max_bytes: int | None = None) -> None:
        self._limits = (max_pixels, max_bytes)
        self._held: OrderedDict[int, tuple[Picture, str, Size]] = OrderedDict()
        self._bytes = 0

    def url(self, picture: Picture) -> tuple[str, Size]:
        """The `data:` URL of a picture and the size sent."""
        held = self._held.get(id(picture))
        if held is not None and held[0] is picture:
            self._held.move_to_end(id(picture))
            return held[1], held[2]
        sent = prepare(picture, max_pixels=self._limits[0], max_bytes=self._limits[1])
        url = sent.url()
        self._held[id(picture)] = picture, url, sent.size
        self._bytes += len(url)
        while len(self._held) > HELD_PICTURES or (self._bytes > HELD_BYTES and len(self._held) > 1):
            self._bytes -= len(self._held.popitem(last=False)[1][1])
        return url, sent.size


def _look(data: bytes, name: str) -> tuple[str, Size, bool]:
    """Format, size as stored, and whether every reader sees the same in it."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            upright = image.getexif().get(ORIENTATION, 1) == 1
            plain = image.mode in PLAIN_MODES and "transparency" not in image.info and not _animated(image)
            form = "JPEG" if image.format == "MPO" else image.format or ""
            return form, Size(*image.size), upright and plain and image.format in KEPT
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        decode(data, name=name)  # raises the DataError that says what is wrong
        raise


def _animated(image: Image.Image) -> bool:
    return bool(getattr(image, "is_animated", False))


def _encode(image: Image.Image, form: str) -> Sent:
    if form != "JPEG":
        return Sent(encode_png(image), KEPT["PNG"], Size(*image.size))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return Sent(buffer.getvalue(), KEPT["JPEG"], Size(*image.size))
