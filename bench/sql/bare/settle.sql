vacuum (analyze) bare.message, bare.ready, bare.lease, bare.settled, bare.counter_delta;
