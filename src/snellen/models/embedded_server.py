"""The child process of `embedded`: llama.cpp's own HTTP server on a free port of the loopback.

`python -m snellen.models.embedded_server FOLDER SLOTS THREADS` writes one line with its address to standard output and
serves until its standard input ends, which it does when the parent closes it or is gone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from snellen.models.embedded import ANNOUNCES, CONTEXT


def serve(folder: Path, slots: int, threads: int) -> None:
    """Starts the server, tells where it listens, and waits for the end of standard input."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(folder / "model.gguf")
    params.mmproj.path = str(folder / "mmproj.gguf")
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = slots
    params.n_ctx = CONTEXT * slots
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.cache_prompt = False  # an answer must not depend on the requests before it
    params.cache_ram_mib = 0
    params.fit_params = False
    params.ui = False
    params.verbosity = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{ANNOUNCES}{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # the server's threads have nothing to finish


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
