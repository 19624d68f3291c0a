"""Pages that are served: on loopback unless told otherwise, read-only, nothing but what was asked for."""
