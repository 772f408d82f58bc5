"""Boxes of Specs, tables of costs and choices on them, and what a memo may say of them."""
