"""A queue of jobs that are tried again."""
