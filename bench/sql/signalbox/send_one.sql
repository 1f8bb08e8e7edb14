select signalbox.send('bench', '$payload');
