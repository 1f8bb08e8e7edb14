"""The SQS endpoint beside the HTTP API: batches of ten, and polls that wait."""
