vacuum (analyze) signalbox.message, signalbox.ready, signalbox.scheduled, signalbox.lease, signalbox.settled,
  signalbox.counter_delta, signalbox.head, signalbox.queue, signalbox.queue_stat, signalbox.fold;
