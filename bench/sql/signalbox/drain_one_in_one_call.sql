select message_id, array[receipt_handle] as receipt_handles, payload
from signalbox.receive('bench', 1, acknowledge => :receipt_handles) \gset
