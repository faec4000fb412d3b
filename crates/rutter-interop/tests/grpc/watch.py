"""Prints changes as they come, a line each: the number, the kind and the prefix. Ends with a line that has the code and the
text of the error. Arguments: the folder of the generated stubs, the address of the server, the number after which to
continue (0: from now on), a file: while it exists, nothing is read, and perhaps a token."""

import os
import sys
import time

stubs, server, after, pause = sys.argv[1:5]
metadata = [("authorization", f"Bearer {token}") for token in sys.argv[5:]]
sys.path.insert(0, stubs)

import grpc
from rutter.v1 import change_pb2, reader_pb2_grpc

channel = grpc.insecure_channel(server)
reader = reader_pb2_grpc.ReaderStub(channel)
query = change_pb2.WatchChangesRequest(after=int(after) or None)
try:
    for message in reader.WatchChanges(query, metadata=metadata):
        if message.HasField("change"):
            kind = message.change.WhichOneof("kind")
            body = getattr(message.change, kind)
            prefix = getattr(body, "prefix", "") or getattr(getattr(body, "route", None), "prefix", "")
            print(message.number, kind, prefix or "-", flush=True)
        else:
            print(message.number, "place", "-", flush=True)
        while os.path.exists(pause):
            time.sleep(0.05)
except grpc.RpcError as error:
    print("error", error.code().name, error.details(), flush=True)
