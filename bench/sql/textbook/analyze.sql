analyze textbook.message;
