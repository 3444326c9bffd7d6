"""A plugin whose entry point names a class that is not here."""
