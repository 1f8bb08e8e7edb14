"""The SQS endpoint beside the HTTP API and moto's server: batches of ten, and polls that wait."""
