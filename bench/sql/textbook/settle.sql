vacuum (analyze) textbook.message;
