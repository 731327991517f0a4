"""History, out again: to Parquet, to OTLP JSON, or to an OTLP endpoint. Only what the store holds, as the store holds it."""
