select signalbox.create_queue('bench');
