"""Our numbers beside published ones: of the paper, or of a file of the same form."""
