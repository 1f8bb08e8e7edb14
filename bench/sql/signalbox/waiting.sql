select (select count(*) from signalbox.ready where queue_id = q.queue_id)
  + (select count(*) from signalbox.waiting where queue_id = q.queue_id)
  + (select count(*) from signalbox.lease where queue_id = q.queue_id)
from signalbox.queue q
where q.name = '$queue';
