"""The derived tables as Arrow files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import orjson

from snellen.core.tables import Table, Tables


def to_bytes(table: Table, *, about: dict[str, Any] | None = None) -> bytes:
    """`table` as an Arrow IPC file, compressed; `about` is kept in its schema. NaN stays NaN."""
    import pyarrow as pa

    arrays = {name: pa.array(values, from_pandas=False) for name, values in table.columns.items()}
    meta = {b"snellen": orjson.dumps(about or {}, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)}
    batch = pa.table(arrays).replace_schema_metadata(meta)
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(batch)
    return sink.getvalue()


def from_bytes(data: bytes) -> tuple[Table, dict[str, Any]]:
    """The inverse of `to_bytes`."""
    import pyarrow as pa

    found = pa.ipc.open_file(pa.py_buffer(data)).read_all()
    about: dict[str, Any] = orjson.loads((found.schema.metadata or {}).get(b"snellen", b"{}"))
    return Table({name: _numpy(found.column(name)) for name in found.column_names}), about


def _numpy(column: Any) -> np.ndarray[Any, Any]:
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return np.asarray(column.to_numpy())


def tables_to_files(tables: Tables) -> dict[str, bytes]:
    """File name -> bytes."""
    about = {"classes": list(tables.classes), "facts": dict(tables.facts)}
    files = {"outcomes.arrow": to_bytes(tables.outcomes, about=about)}
    if tables.detections is not None:
        files["detections.arrow"] = to_bytes(tables.detections)
    return files


def tables_from_files(outcomes: bytes, detections: bytes | None) -> Tables:
    """The inverse of `tables_to_files`."""
    table, about = from_bytes(outcomes)
    instances = None if detections is None else from_bytes(detections)[0]
    return Tables(table, instances, tuple(about.get("classes", ())), about.get("facts", {}))
