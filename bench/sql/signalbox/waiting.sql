select (select count(*) from signalbox.ready) + (select count(*) from signalbox.lease);
