"""DRed: recursive views are maintained by overdeletion, rederivation and insertion (gupta93 section 7)."""
