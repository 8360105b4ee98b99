"""The pages that a lawyer sees."""
