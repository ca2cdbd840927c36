"""Past sessions as hosts wrote them down: one module a host, each a reader and where it reads."""
