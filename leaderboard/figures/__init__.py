"""The figures: matplotlib, as SVG for pages and PDF for papers, from ``Results`` only."""
