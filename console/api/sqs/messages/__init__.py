"""Messages at the SQS endpoint: sending, receiving and settling."""
