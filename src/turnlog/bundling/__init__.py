"""Sessions in one portable file: a ZIP of Parquet files and a manifest. What comes out of it goes through the journal."""
