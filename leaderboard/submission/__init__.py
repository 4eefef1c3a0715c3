"""Results submitted as files: how submissions are read, checked and shown."""
