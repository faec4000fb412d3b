"""Listens to the stream until a withdrawal comes: `stream.py URL READY`. READY is a file that is made once it listens."""

import json
import pathlib
import sys

from websockets.sync.client import connect

url, ready = sys.argv[1:]
with connect(url) as stream:

    def subscribe(data):
        stream.send(json.dumps({"type": "ris_subscribe", "data": data}))
        return json.loads(stream.recv(timeout=30))["type"]

    assert subscribe({"prefx": "45.0.0.0/8"}) == "ris_error"
    wanted = {"prefix": "45.0.0.0/8", "type": "UPDATE", "socketOptions": {"acknowledge": True}}
    assert subscribe(wanted) == "ris_subscribe_ok"
    pathlib.Path(ready).touch()
    withdrawn = False
    while not withdrawn:
        data = json.loads(stream.recv(timeout=60))["data"]
        for announcement in data.get("announcements", []):
            for prefix in announcement["prefixes"]:
                print("announced", data["peer"], prefix, *data["path"])
        for prefix in data.get("withdrawals", []):
            print("withdrawn", data["peer"], prefix)
            withdrawn = True
