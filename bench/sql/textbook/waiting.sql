select count(*) from textbook.message;
