"""Docker's API: addresses, ways to a host, requests, events, log frames and errors."""
