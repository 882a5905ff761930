package runtime_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// BenchmarkGrowth measures how the costs of one piece grow with the number of pieces, in processor
// time. It prints each point, and reports the exponent of a power law that is fitted to them: 0 for
// a cost that does not grow.
func BenchmarkGrowth(b *testing.B) {
	b.Run("sessions/1000_tools", func(b *testing.B) {
		benchGrowth(b, []int{50, 500, 5000}, func(b *testing.B, n int) time.Duration { return openSessions(b, n, 1000) })
	})
	b.Run("sessions/distinct_tools", func(b *testing.B) {
		benchGrowth(b, []int{50, 500, 5000}, func(b *testing.B, n int) time.Duration { return openSessions(b, n, n) })
	})
	b.Run("directory/lookup", func(b *testing.B) { benchGrowth(b, []int{100, 1000, 10_000, 100_000}, lookUp) })
}

// benchGrowth reports the growth of a cost of each of n pieces: the least of some rounds, of more
// for a small n.
func benchGrowth(b *testing.B, sizes []int, cost func(b *testing.B, n int) time.Duration) {
	for range b.N {
		var xs, ys []float64
		for _, n := range sizes {
			least := time.Duration(math.MaxInt64)
			for range min(7, cmp.Or(5000/n, 1)) {
				least = min(least, cost(b, n))
			}
			b.Logf("n %6d: %8.2f µs each", n, float64(least.Nanoseconds())/1000)
			b.ReportMetric(float64(least.Nanoseconds()), fmt.Sprintf("ns@%d", n))
			xs, ys = append(xs, math.Log(float64(n))), append(ys, math.Log(float64(least)))
		}
		b.ReportMetric(slope(xs, ys), "exponent")
	}
}

// slope returns that of the line through the points by least squares.
func slope(xs, ys []float64) float64 {
	var x, y, xy, xx float64
	n := float64(len(xs))
	for i := range xs {
		x, y, xy, xx = x+xs[i], y+ys[i], xy+xs[i]*ys[i], xx+xs[i]*xs[i]
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

// openSessions opens n sessions over TCP, each with one tool of so many, and returns the cost of
// each.
func openSessions(b *testing.B, n, tools int) time.Duration {
	h := newHub(b, noPeerOptions)
	l, err := tcp.Listen(h.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	conns := make([]net.Conn, n)
	frame := make([]byte, 8<<20)
	begun := processorTime(b)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		hello := fmt.Appendf(nil, `{"mcp_version":"0.1.0","message_id":"hello-%d","performative":"QUERY_CAPABILITIES","sender":{"agent_id":"peer%d"},`+
			`"receiver":{"agent_id":"system"},"timestamp":"%s","payload":{"query_type":"summary","capabilities":{"actions":[{"name":"tool%d"}]}}}`,
			i, i, time.Now().UTC().Format(time.RFC3339Nano), i%tools)
		if _, err := conns[i].Write(append(binary.BigEndian.AppendUint32([]byte{'M', 'C', 1}, uint32(len(hello))), hello...)); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conns[i], frame[:7]); err != nil {
			b.Fatal(err)
		}
		answer := frame[:binary.BigEndian.Uint32(frame[3:])]
		if _, err := io.ReadFull(conns[i], answer); err != nil || !bytes.Contains(answer, []byte("INFORM_CAPABILITIES")) {
			b.Fatalf("answered %.100s: %v", answer, err)
		}
	}
	cost := (processorTime(b) - begun) / time.Duration(n)
	for _, c := range conns {
		_ = c.Close()
	}
	h.stopServer()
	_ = l.Stop(b.Context())
	_ = h.Stop(b.Context())
	return cost
}

// lookUp looks the n agents of another node up, and returns the cost of each.
func lookUp(b *testing.B, n int) time.Duration {
	nodes := newCluster(b, 2)
	for i := range n {
		spawn(b, nodes[1], benchAgent(i), func() actors.Agent { return colleague{} })
	}
	directory := nodes[0].Directory()
	eventually(b, nodes[0], func() error {
		if got := len(directory.IDs()); got < n {
			return fmt.Errorf("%d agents are known", got)
		}
		return nil
	})
	least := time.Duration(math.MaxInt64)
	for range 5 {
		begun := processorTime(b)
		const lookups = 100_000
		var room [24]byte
		for i := range lookups {
			id := performatives.AgentID(strconv.AppendInt(append(room[:0], "agent-"...), int64(i*7919%n), 10))
			if _, ok := directory.Lookup(id); !ok {
				b.Fatalf("%s is not known", id)
			}
		}
		least = min(least, (processorTime(b)-begun)/lookups)
	}
	for _, node := range nodes {
		_ = node.Stop(b.Context())
	}
	return least
}
