"""The API's description as a page for people: made from the OpenAPI document, so it says what is there."""
