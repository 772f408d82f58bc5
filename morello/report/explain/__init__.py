"""What was chosen for a goal and why, as one document: for tools, and as a page to read.

`document` gathers it, `page` writes it as HTML. The page knows nothing but the document, so that
both say the same.
"""
