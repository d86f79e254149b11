"""The use cases behind the web app and the command line: workspace, tasks, uploads, stored data.

`open_workspace(settings)` is the entry point; everything else is reached through the `Workspace` it returns.
"""
