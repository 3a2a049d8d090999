"""What is known of languages: the package's own table, and the language cards of the user."""
