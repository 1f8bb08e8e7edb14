select signalbox.purge('bench', max_messages => 100000);
