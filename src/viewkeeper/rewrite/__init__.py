"""Plans that say the same and read less: keys pushed down to the scans, joins ordered, groups left out."""
