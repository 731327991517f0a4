"""`turnlog demo`: a real agent on a scripted model, offline, and turnlog's answers about what it did."""
