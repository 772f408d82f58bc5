"""From plans to C: lowering, passes over programs, and the emitter."""
