truncate textbook.message;
