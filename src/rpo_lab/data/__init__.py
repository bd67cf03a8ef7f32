"""Data of the laboratory: digits, photos, real tables to download, and domains confounded on purpose."""
