"""The archive: what ended leaves the database for Parquet files, each row once, whatever is killed."""
