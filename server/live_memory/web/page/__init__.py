"""The page: what a person looks at in a browser, and the routes that it alone needs."""
