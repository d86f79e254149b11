"""Provisioning: what to allocate to containers, by which policy, and how well each would have done."""
