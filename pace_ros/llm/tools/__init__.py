"""Tool rounds: the language model asks for knowledge or for live facts, and answers with what it got."""
