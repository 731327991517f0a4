"""`turnlog ui`: the store in a browser on this machine. Renders `queries`; nothing here computes."""
