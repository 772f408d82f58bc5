"""The C compiler and the machine it compiles for."""
