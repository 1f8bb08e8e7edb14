"""The reference of the HTTP API as pages, generated from the OpenAPI document."""
