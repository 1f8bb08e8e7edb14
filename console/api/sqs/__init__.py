"""The SQS endpoint: Amazon SQS's API over the services of /v1, for AWS SDKs. docs/use/sqs.md says how it is used."""
