"""The rules of compaction: what leaves the window, what is asked of it, what becomes a fact."""
