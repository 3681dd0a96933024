"""What turns results into something to look at: plots, tables, the scorecard, interactive pages."""

from sentlab.extras import need

need("pandas", "plots")
