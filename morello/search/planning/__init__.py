"""Before anything is solved: which families, boxes and alternatives a goal needs."""
