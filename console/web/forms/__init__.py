"""Forms: their fields, refused forms that come back as they were typed, and reviews of changed settings."""
