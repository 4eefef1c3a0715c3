"""The studies, one file each, discovered by ``benchmark.lab.study.discover``."""
