"""Tables, layers, the change log and commits: what lies on disk, and how several tables become one."""
