"""Pure text functions that index, query, sentence picking and budgets share."""
