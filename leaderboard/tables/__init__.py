"""Tables from results: measures with intervals, boards, rankings and every table of the paper."""
