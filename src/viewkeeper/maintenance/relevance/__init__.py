"""Changes that cannot matter: blakeley86 section 4, from conditions over a changed tuple to a test of it."""
