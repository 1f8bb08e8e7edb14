select signalbox.purge('$queue', states => '{ready,scheduled,leased}', max_messages => 100000);
