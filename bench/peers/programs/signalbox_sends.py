"""Sender of Signalbox; `bench.client.workers` measures its worker."""

import sys

from signalbox import Client

work, url, count, payload = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]

with Client(url) as client:
    client.create_queue("bench")
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(count):
        client.send("bench", payload)
