"""Figures from ``Results``, drawn by matplotlib as SVG for pages and PDF for papers."""
