"""All policies of an experiment beside each other: the leaderboard, and figures of those that are chosen."""
