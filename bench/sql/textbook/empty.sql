delete from textbook.message;
