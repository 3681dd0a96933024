"""What turns results into something to look at: plots, tables, verdicts, interactive pages."""
