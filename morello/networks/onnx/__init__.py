"""Networks in ONNX files."""
