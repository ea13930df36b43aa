"""The report on an evaluation: the paper's tables and figures from the rows of a run, the published numbers beside."""
