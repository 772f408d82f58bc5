"""What is shown of a compiled spec: its plan, its alternatives, where rules and kernels fare."""
