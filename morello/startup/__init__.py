"""What runs before all imports, and what makes them fewer. Imports nothing of the other rooms."""
