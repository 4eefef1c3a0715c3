"""Building blocks of studies: reports, the lab that trains for them, and shared computations."""
