"""What a computation is to the engine: element types, layouts, operators, Specs, rules, targets."""
