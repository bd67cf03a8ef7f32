"""The paper's own experiments and theory, with the data and features that only they need."""
