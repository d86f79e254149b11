"""The use cases behind the web app and the command line: workspace, tasks, uploads, stored data.

`open_workspace(settings)` is the door; everything else hangs on the `Workspace` it gives.
"""
