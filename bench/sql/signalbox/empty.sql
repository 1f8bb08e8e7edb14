select signalbox.purge('$queue', states => '{ready,scheduled,waiting,leased}', max_messages => 100000);
