"""`viewkeeper serve`: one process that keeps views as fresh as they ask to be, and shows how they are."""
