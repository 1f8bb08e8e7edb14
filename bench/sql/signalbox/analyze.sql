analyze signalbox.message, signalbox.ready, signalbox.lease;
