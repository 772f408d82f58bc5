"""From syntax trees to definitions: every check that a file must pass, all errors at once.

One module a kind of definition. What is wrong goes to a `Collector`; what is right comes back as
the operators, rules, targets and goals that the rest of the compiler works with.
"""
