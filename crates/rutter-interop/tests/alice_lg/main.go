// Asks a Rutter with the package that Alice-LG itself uses for birdwatcher, and prints all answers as JSON.
// The folder of an Alice-LG checkout is the working folder: `go run …/main.go single_table http://…/birdwatcher`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/alice-lg/alice-lg/pkg/api"
	"github.com/alice-lg/alice-lg/pkg/sources/birdwatcher"
)

// All that Alice-LG shows about a neighbor.
type neighbor struct {
	Neighbor *api.Neighbor
	// Accepted and rejected routes, as Alice-LG asks for them together.
	Routes *api.RoutesResponse
	// The same, asked one by one.
	Received    *api.RoutesResponse
	Filtered    *api.RoutesResponse
	NotExported *api.RoutesResponse
}

type answers struct {
	Status         *api.StatusResponse
	Neighbors      map[string]neighbor
	NeighborStates *api.NeighborsStatusResponse
	All            *api.RoutesResponse
}

// Ends the program with the error, if there is one.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: main.go single_table|multi_table ADDRESS")
		os.Exit(2)
	}
	// These are the lines of docs/api.md.
	source := birdwatcher.NewBirdwatcher(birdwatcher.Config{
		ID:                 "rs1",
		Name:               "rs1.example.net",
		Type:               os.Args[1],
		API:                os.Args[2],
		MainTable:          "master",
		PeerTablePrefix:    "T",
		PipeProtocolPrefix: "M",
		Timezone:           "UTC",
		ServerTime:         "2006-01-02T15:04:05Z07:00",
		ServerTimeShort:    "2006-01-02 15:04:05",
		ServerTimeExt:      "2006-01-02 15:04:05",
	})
	ctx := context.Background()
	result := answers{
		Status:         must(source.Status(ctx)),
		Neighbors:      map[string]neighbor{},
		NeighborStates: must(source.NeighborsStatus(ctx)),
	}
	for _, one := range must(source.Neighbors(ctx)).Neighbors {
		result.Neighbors[one.Address] = neighbor{
			Neighbor:    one,
			Routes:      must(source.Routes(ctx, one.ID)),
			Received:    must(source.RoutesReceived(ctx, one.ID)),
			Filtered:    must(source.RoutesFiltered(ctx, one.ID)),
			NotExported: must(source.RoutesNotExported(ctx, one.ID)),
		}
	}
	result.All = must(source.AllRoutes(ctx))
	must(0, json.NewEncoder(os.Stdout).Encode(result))
}
