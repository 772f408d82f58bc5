"""Programs: loops, buffers and kernel calls on regions of tensors, and what proves them right."""
