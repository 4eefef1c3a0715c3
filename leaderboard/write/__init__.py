"""Tables as HTML, LaTeX, CSV, JSON and Markdown, and results as files."""
