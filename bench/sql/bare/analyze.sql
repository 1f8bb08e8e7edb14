analyze bare.message, bare.ready, bare.lease;
