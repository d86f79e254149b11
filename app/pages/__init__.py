"""The pages, one module each: a docstring, `layout`, the callbacks, and `register(app)`."""
