"""Description of a user's table as a dataset: what is inferred is said, and what is ambiguous is refused."""
