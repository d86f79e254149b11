"""Every scheduling policy, one file each, and the register that names them."""
