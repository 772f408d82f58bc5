"""The recurrence, evaluated over whole boxes: in C, and with numpy as the reference."""
