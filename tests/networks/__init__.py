"""Networks from model files."""
