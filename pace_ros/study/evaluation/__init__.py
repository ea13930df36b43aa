"""The evaluation: arms, runs that can be resumed, tables and figures."""
