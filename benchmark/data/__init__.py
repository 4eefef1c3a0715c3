"""Loading of a ``Problem`` from a TOML: spec → source → features → split."""
