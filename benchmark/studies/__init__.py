"""The studies, one file each, found by ``benchmark.lab.study.discover``."""
