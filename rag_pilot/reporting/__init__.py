"""Figures, tables and the exported pages."""
