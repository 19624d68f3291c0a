"""Pictures: the one loader. Whatever the file holds, a picture is what a person sees: upright, 8-bit RGB.

EXIF orientation is applied; 16-bit and float greys are scaled to 8 bit (Pillow alone turns them white); CMYK (also
Adobe's inverted one), palettes, alpha and greys become RGB; of an animation the first frame counts. A truncated or
unreadable file is a DataError that names it: nothing is repaired.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from snellen.core.errors import DataError

MAX_PIXELS = 178_956_970
"""Larger pictures are refused as decompression bombs: Pillow's own limit."""


class Size(NamedTuple):
    """Width and height in px."""

    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Width x height."""
        return self.width * self.height


@dataclass(frozen=True)
class Picture:
    """A picture that is read (or rendered) when it is looked at.

    `name` identifies it among the pictures of its data set and may hold sub-folders. `load` gives the encoded bytes
    of the file. `size` is the upright size where it is known without loading. `path` is set where it is a file.
    """

    name: str
    load: Callable[[], bytes] = field(repr=False, compare=False)
    size: Size | None = None
    path: Path | None = None

    @classmethod
    def from_file(cls, path: Path, *, name: str | None = None, size: Size | None = None) -> Picture:
        """A picture in a file, read on demand; DataError (on load) where it cannot be read."""
        return cls(name or path.name, _FileLoader(path), size, path)

    def encoded(self) -> bytes:
        """The bytes of the file as it is."""
        return self.load()

    def image(self) -> Image.Image:
        """The upright 8-bit RGB image. DataError where the bytes are no whole picture."""
        return decode(self.load(), name=self.name)

    def upright_size(self) -> Size:
        """The upright size; reads the file's header where `size` is not known."""
        if self.size is not None:
            return self.size
        if isinstance(self.load, _FileLoader):
            return measure_file(self.load.path, name=self.name)
        return measure(self.load(), name=self.name)

    def sha256(self) -> str:
        """SHA-256 of the encoded bytes."""
        return hashlib.sha256(self.load()).hexdigest()


@dataclass(frozen=True)
class _FileLoader:
    path: Path

    def __call__(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise DataError(f"picture cannot be read: {error.strerror or error}: {self.path}") from error


def decode(data: bytes, *, name: str) -> Image.Image:
    """Encoded bytes as the upright 8-bit RGB image. DataError names `name` where they are no whole picture."""
    if not data:
        raise DataError(f"picture is empty: {name}")
    image = _open(io.BytesIO(data), name)
    try:
        image.load()
    except _BROKEN as error:
        raise DataError(f"picture is damaged or cut short ({error}): {name}") from error
    return to_rgb(_upright(image))


def glimpse(data: bytes, *, name: str, side: int) -> Image.Image:
    """The whole picture squeezed into `side` x `side` px of 8-bit grey; DataError as for `decode`.

    JPEGs are decoded at an eighth of their size where that suffices: many times faster, and damage still shows.
    """
    if not data:
        raise DataError(f"picture is empty: {name}")
    image = _open(io.BytesIO(data), name)
    try:
        image.draft(None, (4 * side, 4 * side))
        image.load()
    except _BROKEN as error:
        raise DataError(f"picture is damaged or cut short ({error}): {name}") from error
    return to_rgb(_upright(image)).convert("L").resize((side, side), Image.Resampling.BOX)


def measure(data: bytes, *, name: str) -> Size:
    """The upright size, from the header alone."""
    if not data:
        raise DataError(f"picture is empty: {name}")
    return header(_open(io.BytesIO(data), name)).upright


def measure_file(path: Path, *, name: str | None = None) -> Size:
    """The upright size of a file, of which only the header is read. DataError where it is no picture."""
    return read_header(path, name=name).upright


class Header(NamedTuple):
    """What a picture's header says: the size as stored, EXIF's orientation (1 is upright, 5 to 8 lie on their side),
    Pillow's mode, and whether it has several frames of which only the first is looked at.
    """

    stored: Size
    orientation: int
    mode: str
    animated: bool = False

    @property
    def upright(self) -> Size:
        """The size as a person sees it."""
        return Size(self.stored.height, self.stored.width) if self.orientation >= 5 else self.stored


def read_header(path: Path, *, name: str | None = None) -> Header:
    """The header of the picture at `path`. DataError where it cannot be read or is no picture."""
    label = name or str(path)
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"picture is empty: {label}")
            file.seek(0)
            return header(_open(file, label))
    except OSError as error:
        raise DataError(f"picture cannot be read: {error.strerror or error}: {label}") from error


def header(image: Image.Image) -> Header:
    """The header of an opened image."""
    animated = image.format != "MPO" and bool(getattr(image, "is_animated", False))  # MPO: a phone's JPEG
    orientation = _orientation(image)
    stored = Size(image.width, image.height)
    if image.format == "TIFF" and orientation >= 5:  # of these Pillow gives the upright size even before it turns them
        stored = Size(image.height, image.width)
    return Header(stored, orientation, image.mode, animated)


def to_rgb(image: Image.Image) -> Image.Image:
    """Any Pillow mode as 8-bit RGB; transparency is laid on black; 16-bit and float are scaled, not clipped."""
    if image.mode == "RGB":
        return image
    if image.mode.startswith(("I", "F")):
        return _scaled(image)
    if image.mode == "P" and not image.has_transparency_data:
        return image.convert("RGB")
    if image.mode == "P" or "transparency" in image.info or image.mode in {"RGBA", "LA", "PA", "RGBa", "La"}:
        layered = image.convert("RGBA")
        ground = Image.new("RGBA", layered.size, (0, 0, 0, 255))
        return Image.alpha_composite(ground, layered).convert("RGB")
    return image.convert("RGB")


def encode_png(image: Image.Image) -> bytes:
    """`image` as PNG bytes."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def fit(size: Size, max_pixels: int | None, *, multiple: int = 1) -> Size:
    """The largest size of the same shape with at most `max_pixels`; sides rounded down to `multiple`, at least one."""
    scale = 1.0 if max_pixels is None else min(1.0, (max_pixels / size.pixels) ** 0.5)
    return Size(*(max(multiple, int(side * scale) // multiple * multiple) for side in size))


def snap(size: Size, *, multiple: int, low: int, high: int) -> Size:
    """The size to which Qwen's processors scale a picture: sides the nearest multiples, the area from `low` to `high`.

    Their `smart_resize`: the shape is kept as nearly as the multiples allow.
    """
    snapped = Size(*(round(side / multiple) * multiple for side in size))
    if snapped.pixels > high:
        scale = (high / size.pixels) ** 0.5
        return Size(*(max(multiple, math.floor(side * scale / multiple) * multiple) for side in size))
    if snapped.pixels < low:
        scale = (low / size.pixels) ** 0.5
        return Size(*(math.ceil(side * scale / multiple) * multiple for side in size))
    return snapped


_BROKEN = (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, KeyError, struct.error)
"""What Pillow's decoders raise on damaged files."""


def _open(file: IO[bytes], name: str) -> Image.Image:
    try:
        image = Image.open(file)
    except UnidentifiedImageError as error:
        raise DataError(f"picture is in no known picture format: {name}") from error
    except (*_BROKEN, Image.DecompressionBombError) as error:
        raise DataError(f"picture cannot be opened ({error}): {name}") from error
    if image.width * image.height > MAX_PIXELS:
        raise DataError(f"picture is {image.width} x {image.height}, more than {MAX_PIXELS:,} px: {name}")
    return image


def _orientation(image: Image.Image) -> int:
    """EXIF's orientation, 1 to 8; 1 where there is none or its block is damaged, as viewers do."""
    try:
        value = image.getexif().get(0x0112, 1)
    except _BROKEN:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Orientation -> what makes the stored picture upright."""


def _upright(image: Image.Image) -> Image.Image:
    turn = _TURNS.get(_orientation(image))
    if turn is None:
        return image
    upright = image.transpose(turn)
    for key in ("exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif"):
        upright.info.pop(key, None)  # or a later reader would turn it again
    return upright


def _scaled(image: Image.Image) -> Image.Image:
    """16-bit and wider greys: 0..65535 to 0..255 (0..255 stays); floats: 0..1 or their own range to 0..255."""
    values = np.asarray(image, dtype=np.float64)
    top = float(values.max(initial=0.0))
    if image.mode.startswith("F"):
        full = 1.0 if top <= 1.0 else max(top, 255.0)
    elif "16" in image.mode or top > 255:
        full = 65535.0 if top <= 65535 else top
    else:
        full = 255.0
    grey = np.clip(np.round(values * (255.0 / full)), 0, 255).astype(np.uint8)
    return Image.fromarray(grey).convert("RGB")
