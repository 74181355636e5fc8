"""Tests of the boards of leads and appointments."""
