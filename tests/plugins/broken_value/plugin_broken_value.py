"""A plugin that raises something other than ImportError while it is imported."""

raise ValueError("the licence file\nis unreadable.")
