"""Tasks on the screen: cards with progress, words, and the panel of a page's own tasks."""
