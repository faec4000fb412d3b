// Calls a server of Rutter from Go, with generated code. Arguments: the address of the server, and that of a member.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rutter.example/client/rutter"
)

// with returns a context for a client with this token.
func with(token string) context.Context {
	ctx, _ := context.WithTimeout(context.Background(), time.Minute) //nolint:govet // The program ends soon.
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func check(is bool, what ...any) {
	if !is {
		log.Fatalln(what...)
	}
}

func fails(code codes.Code, err error) {
	check(status.Code(err) == code, "not", code, "but", err)
}

func main() {
	server, member := os.Args[1], os.Args[2]
	conn, err := grpc.Dial(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err == nil, err)
	reader, control := rutter.NewReaderClient(conn), rutter.NewControlClient(conn)

	_, err = reader.ListPeers(context.Background(), &rutter.ListPeersRequest{})
	fails(codes.Unauthenticated, err)
	state, err := reader.GetStatus(with("monitor"), &rutter.GetStatusRequest{})
	check(err == nil && state.Asn == 39000 && state.Established == 2, state, err)
	peers, err := reader.ListPeers(with("monitor"), &rutter.ListPeersRequest{})
	check(err == nil && len(peers.Peers) == 2, peers, err)
	peer, err := reader.GetPeer(with("monitor"), &rutter.GetPeerRequest{Peer: member})
	check(err == nil && peer.Peers[0].Asn == 2103, peer, err)
	_, err = reader.ListSources(with("monitor"), &rutter.ListSourcesRequest{})
	check(err == nil, err)

	seen, after := map[string]bool{}, ""
	for {
		page, err := reader.ListRoutes(with("read"), &rutter.ListRoutesRequest{Limit: 7, After: after})
		check(err == nil && len(page.Routes) <= 7, page, err)
		for _, route := range page.Routes {
			check(!seen[route.Prefix], route.Prefix, "is on two pages")
			seen[route.Prefix] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	check(len(seen) == 32, seen)
	rejected, err := reader.ListRejected(with("read"), &rutter.ListRoutesRequest{})
	check(err == nil && rejected.Routes[0].Findings[0].Name == "prefix-length", rejected, err)
	sent, err := reader.ListAdvertised(with("read"), &rutter.ListAdvertisedRequest{To: member})
	check(err == nil && len(sent.Routes) == 31, sent, err)
	withheld, err := reader.ListWithheld(with("read"), &rutter.ListAdvertisedRequest{To: "AS2102"})
	check(err == nil && withheld.Routes[0].Withheld.Name == "own-route", withheld, err)
	counts, err := reader.CountAdvertised(with("read"), &rutter.CountAdvertisedRequest{To: member})
	check(err == nil && len(counts.Counts) > 0, counts, err)
	route, err := reader.GetRoute(with("read"), &rutter.GetRouteRequest{Target: "45.10.2.7"})
	check(err == nil && *route.Routes[0].Attributes.AsPath == "2102 3333", route, err)
	explained, err := reader.Explain(with("read"), &rutter.ExplainRequest{Target: "45.10.2.0/24"})
	check(err == nil && explained.Candidates[0].Rank == 1, explained, err)
	found, err := reader.Lookup(with("read"), &rutter.LookupRequest{Addresses: []string{"45.10.2.9"}})
	check(err == nil && *found.Results[0].OriginAs == 3333, found, err)
	_, err = reader.Lookup(with("read"), &rutter.LookupRequest{Addresses: []string{"moon"}})
	fails(codes.InvalidArgument, err)

	// A session that is reset goes down and comes back, and the stream shows both.
	kinds := []string{"session-up", "session-down"}
	stream, err := reader.WatchChanges(with("read"), &rutter.WatchChangesRequest{Kinds: kinds})
	check(err == nil, err)
	first, err := stream.Recv()
	check(err == nil && first.Change == nil && first.Number > 0, first, err)
	hard := &rutter.ClearSessionRequest{Peer: member, How: rutter.ClearHow_CLEAR_HOW_HARD}
	_, err = control.ClearSession(with("read"), hard)
	fails(codes.PermissionDenied, err)
	cleared, err := control.ClearSession(with("control"), hard)
	check(err == nil && cleared.Message == "1 session reset", cleared, err)
	for up, down := false, false; !up || !down; {
		message, err := stream.Recv()
		check(err == nil && err != io.EOF, err)
		switch kind := message.GetChange().GetKind().(type) {
		case *rutter.Change_SessionDown:
			down = kind.SessionDown.Peer.Asn == 2103
		case *rutter.Change_SessionUp:
			up = kind.SessionUp.Peer.Asn == 2103
		}
	}

	reload, err := control.Reload(with("control"), &rutter.ReloadRequest{})
	check(err == nil && reload.Message == "nothing changed", reload, err)
	_, err = control.Confirm(with("control"), &rutter.ConfirmRequest{})
	fails(codes.FailedPrecondition, err)
	_, err = control.Apply(with("control"), &rutter.ApplyRequest{File: "/nowhere"})
	fails(codes.FailedPrecondition, err)
	history, err := control.ListHistory(with("control"), &rutter.ListHistoryRequest{})
	check(err == nil, history, err)
	fmt.Println("all calls passed")
}
