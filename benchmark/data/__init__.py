"""From a TOML to a ``Problem``: spec → source → features → split."""
