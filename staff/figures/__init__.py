"""The figures of the home page and of the reports: `page` reads the address, `tables` makes tables and charts."""
