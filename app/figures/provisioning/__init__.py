"""Figures of provisioning."""
