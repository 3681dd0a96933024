"""What turns results into something to look at: plots, tables, verdicts, interactive pages."""

from sentlab.extras import need

need("pandas", "plots")
