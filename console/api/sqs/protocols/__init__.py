"""The two protocols of SQS: AWS JSON 1.0, and the query protocol with XML answers. Shapes describe both."""
