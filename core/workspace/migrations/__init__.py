"""The steps from each version of the tables to the next; `core.workspace.database` takes them.

One file a step in ``versions/``, numbered without gaps. A step that has been released is never changed.
"""
