"""What is made of the archive: each a function from tables to a table, which a test can give three rows."""
