insert into textbook.message (payload) values ('$payload') returning message_id;
