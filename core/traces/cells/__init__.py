"""What single cells of a table say: numbers in any country's writing, quantities with units, dates."""
