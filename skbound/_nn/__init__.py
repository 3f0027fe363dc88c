"""The Transformer and its parts (torch modules)."""
