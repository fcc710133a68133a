"""Stands in for the daemon of the embedded executor, without V8."""
