"""Documents outside North: a lawyer's connection to NetDocuments, and reading there behind the ethical wall."""
