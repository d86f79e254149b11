"""The programs in PyTorch."""
