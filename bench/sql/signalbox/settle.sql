vacuum (analyze) signalbox.message, signalbox.ready, signalbox.scheduled, signalbox.lease, signalbox.settled,
  signalbox.counter_delta, signalbox.claim_floor, signalbox.queue, signalbox.queue_stat, signalbox.aggregation;
