"""What goes over the wire: shapes of requests and answers, and how their names map to the engine's words."""
