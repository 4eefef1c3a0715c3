"""Results that others hand in as files: what a submission is, how it is read, judged and shown."""
