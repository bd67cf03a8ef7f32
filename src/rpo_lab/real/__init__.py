"""The study of real tables: whole domains held out, learners side by side, and when data quality matters."""
