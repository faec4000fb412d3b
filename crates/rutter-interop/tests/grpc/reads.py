"""Calls every method that reads, as a program of an operator does. Arguments: the folder of the generated stubs, the
address of the server, and the addresses of two members. An exception is a failed test."""

import sys

stubs, server, first, second = sys.argv[1:]
sys.path.insert(0, stubs)

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from rutter.v1 import advertised_pb2, change_pb2, explain_pb2, lookup_pb2, peer_pb2, reader_pb2_grpc
from rutter.v1 import control_pb2, control_pb2_grpc, route_pb2, source_pb2, status_pb2

channel = grpc.insecure_channel(server)
reader = reader_pb2_grpc.ReaderStub(channel)


def fails(code, call, request):
    """Returns the text of an error that must have this code."""
    try:
        answer = call(request, timeout=60)
    except grpc.RpcError as error:
        assert error.code() == code, error
        return error.details()
    raise AssertionError(f"{request} is no error: {answer}")


INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND

status = reader.GetStatus(status_pb2.GetStatusRequest())
assert status.asn == 39_000 and status.established == 2 and status.version, status

peers = reader.ListPeers(peer_pb2.ListPeersRequest()).peers
assert {peer.asn for peer in peers} == {2_102, 2_103}, peers
assert {peer.state for peer in peers} == {"Established"}, peers
peer = reader.GetPeer(peer_pb2.GetPeerRequest(peer="AS2102")).peers[0]
assert peer.address == first and peer.negotiated.four_octet_as, peer
families = {family.family: family for family in peer.families}
assert families["ipv4-unicast"].accepted == 31 and families["ipv4-unicast"].rejected == 1, peer
text = fails(NOT_FOUND, reader.GetPeer, peer_pb2.GetPeerRequest(peer="nobody"))
assert "nobody" in text, text
fails(INVALID, reader.GetPeer, peer_pb2.GetPeerRequest())

# Pages: every route is on exactly one.
seen, after = [], ""
while True:
    page = reader.ListRoutes(route_pb2.ListRoutesRequest(limit=10, after=after))
    assert len(page.routes) <= 10, page
    seen += [route.prefix for route in page.routes]
    after = page.next
    if not after:
        break
assert len(seen) == len(set(seen)) == 32, seen
request = route_pb2.ListRoutesRequest(limit=1_001)
assert "1000" in fails(INVALID, reader.ListRoutes, request)
fails(INVALID, reader.ListRoutes, route_pb2.ListRoutesRequest(after="elsewhere"))


def routes(**conditions):
    request = route_pb2.ListRoutesRequest(filter=route_pb2.RouteFilter(**conditions))
    return {route.prefix for route in reader.ListRoutes(request).routes}


assert routes(peer=second) == set()
assert routes(within="45.10.0.0/16") == {"45.10.2.0/24"}
assert routes(origin_as=3_333, family=route_pb2.FAMILY_IPV4, best=True) == {"45.10.2.0/24"}
assert routes(rejected=True) == routes(reason="prefix-length") == {"45.11.2.128/25"}
assert routes(family=route_pb2.FAMILY_IPV6) == set()
wrong = route_pb2.ListRoutesRequest(filter=route_pb2.RouteFilter(within="45.10.2.1/24"))
assert fails(INVALID, reader.ListRoutes, wrong).startswith("within: `45.10.2.1/24`")

rejected = reader.ListRejected(route_pb2.ListRoutesRequest()).routes
assert len(rejected) == 1, rejected
assert rejected[0].route.rejected.name == "prefix-length" and rejected[0].findings[0].evidence, rejected

route = reader.GetRoute(route_pb2.GetRouteRequest(target="45.10.2.7")).routes[0]
assert route.prefix == "45.10.2.0/24" and route.best and route.peer.asn == 2_102, route
assert route.attributes.as_path == "2102 3333" and route.attributes.next_hop == "10.77.0.2", route
assert not route.HasField("path_id") and not route.HasField("rejected"), route
fails(NOT_FOUND, reader.GetRoute, route_pb2.GetRouteRequest(target="9.9.9.9"))

sent = reader.ListAdvertised(advertised_pb2.ListAdvertisedRequest(to=second, limit=1_000)).routes
assert len(sent) == 31 and sent[0].to.asn == 2_103 and sent[0].peer.asn == 2_102, sent
withheld = reader.ListWithheld(advertised_pb2.ListAdvertisedRequest(to=first, limit=1_000)).routes
assert {route.withheld.name for route in withheld} == {"own-route"} and len(withheld) == 31, withheld
counts = reader.CountAdvertised(advertised_pb2.CountAdvertisedRequest(to=second)).counts
assert sum(count.prefixes for count in counts) == 31, counts
fails(NOT_FOUND, reader.CountAdvertised, advertised_pb2.CountAdvertisedRequest(to="nobody"))

explained = reader.Explain(explain_pb2.ExplainRequest(target="45.10.2.0/24"))
assert [candidate.rank for candidate in explained.candidates] == [1], explained
receives = {client.client.asn: list(client.advertised) for client in explained.clients}
assert receives == {2_102: [], 2_103: [1]}, explained
what_if = explain_pb2.WhatIf(**{"from": "AS2103", "as_path": [2_103]})
assumed = reader.Explain(explain_pb2.ExplainRequest(target="45.10.2.0/24", what_if=what_if))
assert assumed.candidates[0].route.peer.asn == 2_103 and assumed.candidates[1].lost_at, assumed

found = reader.Lookup(lookup_pb2.LookupRequest(addresses=["45.10.2.9", "9.9.9.9"])).results
assert [result.address for result in found] == ["45.10.2.9", "9.9.9.9"], found
assert found[0].prefix == "45.10.2.0/24" and found[0].origin_as == 3_333, found
assert not found[1].HasField("prefix"), found
fails(INVALID, reader.Lookup, lookup_pb2.LookupRequest(addresses=["moon"]))
fails(INVALID, reader.Lookup, lookup_pb2.LookupRequest(addresses=["9.9.9.9"] * 257))

assert not reader.ListSources(source_pb2.ListSourcesRequest()).sources

# The stream begins with the client's place in the log.
stream = reader.WatchChanges(change_pb2.WatchChangesRequest())
place = next(stream)
assert place.number and not place.HasField("change"), place
stream.cancel()
unknown = reader.WatchChanges(change_pb2.WatchChangesRequest(kinds=["rain"]))
try:
    raise AssertionError(next(unknown))
except grpc.RpcError as error:
    assert error.code() == INVALID and "rain" in error.details(), error

# A request that is too long is no sign of missed changes.
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
text = fails(EXHAUSTED, reader.GetPeer, peer_pb2.GetPeerRequest(peer="x" * 70_000))
assert "65536 bytes" in text, text
too_long = reader.WatchChanges(change_pb2.WatchChangesRequest(kinds=["x" * 70_000]))
try:
    raise AssertionError(next(too_long))
except grpc.RpcError as error:
    assert error.code() == EXHAUSTED, error

# Without --control-socket the server only reads.
control = control_pb2_grpc.ControlStub(channel)
text = fails(grpc.StatusCode.PERMISSION_DENIED, control.Reload, control_pb2.ReloadRequest())
assert "--control-socket" in text, text

# The server describes itself.
database = ProtoReflectionDescriptorDatabase(channel)
services = set(database.get_services())
assert {"rutter.v1.Reader", "rutter.v1.Control", "grpc.health.v1.Health"} <= services, services
methods = DescriptorPool(database).FindServiceByName("rutter.v1.Reader").methods_by_name
assert "WatchChanges" in methods, methods
health = health_pb2_grpc.HealthStub(channel)
answer = health.Check(health_pb2.HealthCheckRequest(service="rutter.v1.Reader"))
assert answer.status == health_pb2.HealthCheckResponse.SERVING, answer

# One call for reflection may not ask without end.
many = (reflection_pb2.ServerReflectionRequest(list_services="") for _ in range(50_000))
answers = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(many)
count = 0
try:
    for _ in answers:
        count += 1
    raise AssertionError(f"{count} answers")
except grpc.RpcError as error:
    assert error.code() == EXHAUSTED and "asks too often" in error.details(), error
assert count > 100, count
