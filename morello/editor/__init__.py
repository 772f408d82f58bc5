"""What editors ask of files that are being written: errors, completion, hover, definitions.

``position`` says what name is expected at a place of a text, ``symbols`` which names there are,
``answers`` puts the two together, ``workspace`` holds the open texts and checks them, and
``server`` speaks the Language Server Protocol; the others know nothing of it.
"""
