select (select count(*) from bare.ready) + (select count(*) from bare.lease);
