"""What rules and kernels do to a family of Specs: matching, binding, and their results."""
