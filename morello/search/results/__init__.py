"""What is read off solved tables: the cheapest plan, the next ones, and why there is none."""
