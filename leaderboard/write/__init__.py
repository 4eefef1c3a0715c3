"""Writers of tables as HTML, LaTeX, CSV, JSON and Markdown, and of results as files."""
