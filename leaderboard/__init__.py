"""From tracked cells to tables: statistics → columns → table → HTML, LaTeX, CSV."""
