"""Tests of the files with the rows of a list."""
