select signalbox.create_queue('$queue', '$settings');
