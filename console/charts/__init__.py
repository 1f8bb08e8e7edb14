"""Charts and sparklines, drawn on the server as inline SVG."""
