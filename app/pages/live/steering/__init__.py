"""The panel of the attached policy: what it is, what it did, and what that is worth."""
