"""Model folders: manifests with checksums, the card, and fitted learners as arrays."""
