"""Reads over TLS, with and without a certificate of the client. Arguments: the folder of the generated stubs, the address of
the server, and the folder with `ca.crt`, `client.crt`, `client.key`."""

import sys

stubs, server, folder = sys.argv[1:]
sys.path.insert(0, stubs)

import grpc
from rutter.v1 import reader_pb2_grpc, status_pb2


def read(name):
    with open(f"{folder}/{name}", "rb") as file:
        return file.read()


def status(credentials):
    options = [("grpc.ssl_target_name_override", "rs1.example.net")]
    with grpc.secure_channel(server, credentials, options) as channel:
        reader = reader_pb2_grpc.ReaderStub(channel)
        return reader.GetStatus(status_pb2.GetStatusRequest(), timeout=60)


known = grpc.ssl_channel_credentials(read("ca.crt"), read("client.key"), read("client.crt"))
assert status(known).asn == 39_000

for credentials in [grpc.ssl_channel_credentials(read("ca.crt")), grpc.ssl_channel_credentials()]:
    try:
        raise AssertionError(status(credentials))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
