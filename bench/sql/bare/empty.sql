truncate bare.ready, bare.lease, bare.message, bare.counter_delta, bare.settled;
