"""From results to tables: measures with intervals, boards, rankings, every table of the paper."""
