select signalbox.purge('bench', states => '{ready,scheduled,leased}', max_messages => 100000);
