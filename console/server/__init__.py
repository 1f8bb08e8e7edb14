"""The server: every process of Signalbox on one machine, without traffic. The demo adds its traffic to these parts."""
