"""What networks are made of: one file per backbone, with one class that derives from ``benchmark.train.Backbone``."""
