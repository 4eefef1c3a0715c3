"""The commands of ``churn``."""
