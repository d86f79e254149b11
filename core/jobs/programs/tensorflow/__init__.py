"""The programs in TensorFlow."""
