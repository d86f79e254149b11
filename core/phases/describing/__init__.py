"""What phases are: their statistics, and words for them."""
