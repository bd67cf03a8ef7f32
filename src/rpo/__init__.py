"""RPO: models that hold up on domains never seen, from data of uneven quality."""
