"""Asks a daemon that is stopped. Arguments: the folder of the generated stubs, and the address of the server. An exception is
a failed test."""

import sys

stubs, server = sys.argv[1:]
sys.path.insert(0, stubs)

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rutter.v1 import change_pb2, reader_pb2_grpc, status_pb2

channel = grpc.insecure_channel(server)
health = health_pb2_grpc.HealthStub(channel)
for answer in health.Watch(health_pb2.HealthCheckRequest(service="rutter.v1.Reader"), timeout=60):
    if answer.status == health_pb2.HealthCheckResponse.NOT_SERVING:
        break

reader = reader_pb2_grpc.ReaderStub(channel)
changes = reader.WatchChanges(change_pb2.WatchChangesRequest(), timeout=120)
try:
    raise AssertionError(reader.GetStatus(status_pb2.GetStatusRequest(), timeout=120))
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    # It is the text of the server: the time of this client is not over.
    assert "it hangs" in error.details(), error
try:
    raise AssertionError(next(changes))
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.UNAVAILABLE and "it hangs" in error.details(), error
