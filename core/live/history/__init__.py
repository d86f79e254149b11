"""The remembered past of containers, in files that are packed when their time is over."""
