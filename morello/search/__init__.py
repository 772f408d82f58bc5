"""The search: families and their boxes, the recurrence over them, and plans read off its tables."""
