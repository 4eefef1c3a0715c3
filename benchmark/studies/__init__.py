"""The studies, one file each, found by ``benchmark.study.discover``."""
