vacuum (analyze) signalbox.ready, signalbox.lease, signalbox.scheduled, signalbox.head, signalbox.queue, signalbox.queue_stat;
