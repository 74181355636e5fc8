"""What is measured. Each module has a function `run` that yields its rows of the table."""
