"""The pages, one noun a file: thin views that read a form, call one verb and render."""
