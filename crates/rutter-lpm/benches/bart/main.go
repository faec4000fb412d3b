// Command bart answers the benchmark of rutter-lpm for the Go library bart: it loads the prefixes of its one
// argument, then reads a measurement per line from standard input and prints nanoseconds per operation.
//
//	lookup table|fast 4|6 random|inside
//	update table|fast 4|6 place|persist
//	bytes table|fast 4|6
package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gaissmai/bart"
)

const addresses = 1 << 20

// numbers is the generator of the benchmark's Rust side, so that both look up the same addresses.
type numbers uint64

func (n *numbers) next() uint64 {
	x := uint64(*n)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*n = numbers(x)
	return x * 0x2545f4914f6cdd1d
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bart:", err)
		os.Exit(1)
	}
}

func run() error {
	var all [2][]netip.Prefix
	if err := read(os.Args[1], &all); err != nil {
		return err
	}
	var tables [2]*bart.Table[uint32]
	var fasts [2]*bart.Fast[uint32]
	bytes := map[string]float64{}
	for family, prefixes := range all {
		before := heap()
		table := new(bart.Table[uint32])
		for i, prefix := range prefixes {
			table.Insert(prefix, uint32(i))
		}
		middle := heap()
		fast := new(bart.Fast[uint32])
		for i, prefix := range prefixes {
			fast.Insert(prefix, uint32(i))
		}
		after := heap()
		count := float64(len(prefixes))
		name := []string{"4", "6"}[family]
		bytes["table "+name] = (middle - before) / count
		bytes["fast "+name] = (after - middle) / count
		tables[family], fasts[family] = table, fast
	}
	var addrs [2]map[string][]netip.Addr
	for family, prefixes := range all {
		addrs[family] = map[string][]netip.Addr{
			"random": random(family),
			"inside": inside(prefixes),
		}
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		family := 0
		if words[2] == "6" {
			family = 1
		}
		switch words[0] + " " + words[1] {
		case "lookup table":
			fmt.Println(lookups(tables[family].Lookup, addrs[family][words[3]]))
		case "lookup fast":
			fmt.Println(lookups(fasts[family].Lookup, addrs[family][words[3]]))
		case "update table":
			table := tables[family]
			if words[3] == "place" {
				fmt.Println(updates(all[family], table.Insert, func(p netip.Prefix) { table.Delete(p) }))
			} else {
				fmt.Println(updates(all[family],
					func(p netip.Prefix, v uint32) { table = table.InsertPersist(p, v) },
					func(p netip.Prefix) { table = table.DeletePersist(p) }))
			}
		case "update fast":
			fast := fasts[family]
			if words[3] == "place" {
				fmt.Println(updates(all[family], fast.Insert, func(p netip.Prefix) { fast.Delete(p) }))
			} else {
				fmt.Println(updates(all[family],
					func(p netip.Prefix, v uint32) { fast = fast.InsertPersist(p, v) },
					func(p netip.Prefix) { fast = fast.DeletePersist(p) }))
			}
		case "bytes table", "bytes fast":
			fmt.Println(bytes[words[1]+" "+words[2]])
		}
	}
	return lines.Err()
}

func read(path string, all *[2][]netip.Prefix) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var source io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if source, err = gzip.NewReader(file); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(source)
	for lines.Scan() {
		prefix, err := netip.ParsePrefix(lines.Text())
		if err != nil {
			return err
		}
		if prefix.Addr().Is4() {
			all[0] = append(all[0], prefix)
		} else {
			all[1] = append(all[1], prefix)
		}
	}
	return lines.Err()
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func random(family int) []netip.Addr {
	n := numbers(1)
	list := make([]netip.Addr, addresses)
	for i := range list {
		if family == 0 {
			list[i] = v4(uint32(n.next() >> 32))
		} else {
			high := n.next()
			list[i] = v6(high&^(7<<61)|1<<61, n.next())
		}
	}
	return list
}

func inside(prefixes []netip.Prefix) []netip.Addr {
	n := numbers(2)
	list := make([]netip.Addr, addresses)
	for i := range list {
		prefix := prefixes[(n.next()>>32)*uint64(len(prefixes))>>32]
		low, high := n.next(), n.next()
		if prefix.Addr().Is4() {
			octets := prefix.Addr().As4()
			bits := uint32(octets[0])<<24 | uint32(octets[1])<<16 | uint32(octets[2])<<8 | uint32(octets[3])
			mask := uint32(uint64(1<<32-1) >> prefix.Bits())
			list[i] = v4(bits | uint32(low>>32)&mask)
			continue
		}
		octets := prefix.Addr().As16()
		var first, second uint64
		for at := range 8 {
			first = first<<8 | uint64(octets[at])
			second = second<<8 | uint64(octets[at+8])
		}
		if prefix.Bits() < 64 {
			first |= high & (^uint64(0) >> prefix.Bits())
			second |= low
		} else {
			second |= low & (^uint64(0) >> (prefix.Bits() - 64))
		}
		list[i] = v6(first, second)
	}
	return list
}

func v4(bits uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(bits >> 24), byte(bits >> 16), byte(bits >> 8), byte(bits)})
}

func v6(high, low uint64) netip.Addr {
	var octets [16]byte
	for at := range 8 {
		octets[at] = byte(high >> (56 - 8*at))
		octets[at+8] = byte(low >> (56 - 8*at))
	}
	return netip.AddrFrom16(octets)
}

var sink uint32

// lookups measures a second pass, when the caches contain the data of the table.
func lookups(lookup func(netip.Addr) (uint32, bool), addrs []netip.Addr) float64 {
	pass := func() {
		var sum uint32
		for _, addr := range addrs {
			value, _ := lookup(addr)
			sum += value
		}
		sink += sum
	}
	pass()
	start := time.Now()
	pass()
	return float64(time.Since(start).Nanoseconds()) / float64(len(addrs))
}

// updates removes prefixes and adds them again, two operations each.
func updates(prefixes []netip.Prefix, insert func(netip.Prefix, uint32), remove func(netip.Prefix)) float64 {
	const rounds = 20_000
	n := numbers(3)
	start := time.Now()
	for range rounds {
		at := (n.next() >> 32) * uint64(len(prefixes)) >> 32
		remove(prefixes[at])
		insert(prefixes[at], uint32(at))
	}
	return float64(time.Since(start).Nanoseconds()) / (2 * rounds)
}
