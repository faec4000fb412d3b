"""Changes a daemon with and without the role. Arguments: the folder of the generated stubs, the address of the server, the
address of a member, a valid and a wrong configuration. The tokens are `monitor`, `read` and `control`."""

import sys

stubs, server, member, valid, wrong = sys.argv[1:]
sys.path.insert(0, stubs)

import grpc
from rutter.v1 import control_pb2, control_pb2_grpc, peer_pb2, reader_pb2_grpc, route_pb2

channel = grpc.insecure_channel(server)
reader = reader_pb2_grpc.ReaderStub(channel)
control = control_pb2_grpc.ControlStub(channel)
CODES = grpc.StatusCode


def call(method, request, token=None):
    metadata = [("authorization", f"Bearer {token}")] if token else None
    return method(request, metadata=metadata, timeout=60)


def fails(code, method, request, token=None):
    try:
        answer = call(method, request, token)
    except grpc.RpcError as error:
        assert error.code() == code, error
        return error.details()
    raise AssertionError(f"{request} is no error: {answer}")


# Each role includes the ones before, and no token means nothing.
peers, routes = peer_pb2.ListPeersRequest(), route_pb2.ListRoutesRequest()
fails(CODES.UNAUTHENTICATED, reader.ListPeers, peers)
fails(CODES.UNAUTHENTICATED, reader.ListPeers, peers, "wrong")
assert call(reader.ListPeers, peers, "monitor").peers
fails(CODES.PERMISSION_DENIED, reader.ListRoutes, routes, "monitor")
call(reader.ListRoutes, routes, "read")
call(reader.ListRoutes, routes, "control")

hard = control_pb2.ClearSessionRequest(peer=member, how=control_pb2.CLEAR_HOW_HARD)
everything = [
    (control.ClearSession, hard),
    (control.Reload, control_pb2.ReloadRequest()),
    (control.Diff, control_pb2.DiffRequest()),
    (control.Apply, control_pb2.ApplyRequest(file=valid)),
    (control.Confirm, control_pb2.ConfirmRequest()),
    (control.Rollback, control_pb2.RollbackRequest()),
    (control.ListHistory, control_pb2.ListHistoryRequest()),
    (control.ActOnSource, control_pb2.ActOnSourceRequest(name="rpki", action=1)),
]
for method, request in everything:
    fails(CODES.UNAUTHENTICATED, method, request)
    fails(CODES.PERMISSION_DENIED, method, request, "read")

# The forms of `rutter clear`.
for how, words in [
    (control_pb2.CLEAR_HOW_SOFT_IN, "1 session re-evaluated"),
    (control_pb2.CLEAR_HOW_SOFT_OUT, "1 session re-advertised"),
    (control_pb2.CLEAR_HOW_HARD, "1 session reset"),
]:
    request = control_pb2.ClearSessionRequest(peer=member, how=how)
    assert call(control.ClearSession, request, "control").message == words
nobody = control_pb2.ClearSessionRequest(peer="nobody", how=control_pb2.CLEAR_HOW_HARD)
fails(CODES.NOT_FOUND, control.ClearSession, nobody, "control")
unclear = control_pb2.ClearSessionRequest(peer=member)
fails(CODES.INVALID_ARGUMENT, control.ClearSession, unclear, "control")

assert call(control.Reload, control_pb2.ReloadRequest(), "control").message == "nothing changed"

# A configuration is tried, kept, and left again.
diff = call(control.Diff, control_pb2.DiffRequest(file=valid), "control")
assert [one.neighbor for one in diff.changed] == [member], diff
order = control_pb2.ApplyRequest(file=valid, confirm_s=600)
applied = call(control.Apply, order, "control")
assert [one.neighbor for one in applied.diff.changed] == [member] and applied.message, applied
history = call(control.ListHistory, control_pb2.ListHistoryRequest(), "control").configurations
assert history[-1].running and history[-1].goes_back_in_s > 0, history
assert history[-1].by, history
assert call(control.Confirm, control_pb2.ConfirmRequest(), "control").message
fails(CODES.FAILED_PRECONDITION, control.Confirm, control_pb2.ConfirmRequest(), "control")
assert call(control.Rollback, control_pb2.RollbackRequest(), "control").diff.changed

# A wrong configuration changes nothing, and the error has the line and the key.
text = fails(CODES.FAILED_PRECONDITION, control.Apply, control_pb2.ApplyRequest(file=wrong), "control")
assert "nothing was changed" in text and "no-such-key" in text, text
fails(CODES.INVALID_ARGUMENT, control.Apply, control_pb2.ApplyRequest(), "control")
source = control_pb2.ActOnSourceRequest(name="moon", action=control_pb2.SOURCE_ACTION_REFRESH)
assert "moon" in fails(CODES.FAILED_PRECONDITION, control.ActOnSource, source, "control")
