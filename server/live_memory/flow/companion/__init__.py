"""The companion: loop and tools of one question, the check of its words, its model and cost."""
