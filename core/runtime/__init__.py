"""The use-cases that screen and command line call: workspace, tasks, uploads, libraries.

`open_workspace(settings)` is the door; everything else hangs on the `Workspace` it gives.
"""
