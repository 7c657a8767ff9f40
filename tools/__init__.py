"""What maintainers run and users do not: conformance cases, and pages that are made from code."""
