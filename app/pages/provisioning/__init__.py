"""The page Provisioning."""
