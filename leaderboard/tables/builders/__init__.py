"""Builders of tables: functions of results that return a header and rows."""
