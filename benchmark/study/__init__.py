"""Building blocks of studies: reports, the context that trains for them, and shared computations."""
