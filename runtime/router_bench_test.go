package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// BenchmarkRouter measures tasks of a program over TCP to an agent of the node that answers in its
// Receive, and the results back, 64 under way: decoding, delivery, and encoding, in each dialect.
// The program does no more than to number its frames and to count those that come. msgs/s are tasks
// and results.
func BenchmarkRouter(b *testing.B) {
	names := make([]string, 0, len(speakers))
	for name := range speakers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(strings.TrimSuffix(name, "-agent"), func(b *testing.B) { benchmarkRouter(b, name, speakers[name]) })
	}
}

func benchmarkRouter(b *testing.B, name string, f foreign) {
	h := newHubOf(b, newNode(b, runtime.Options{Name: "hub"}), noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(b) })
	l, addr, err := overTCP.listen(h.server)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Stop(context.Background()) }()
	done := p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]float64{"n": 2})}
	h.spawn("Jules", always(scripted{receive: func(c *actors.Context, m *p.Message) {
		if err := c.ReplyAs(m, p.ActInformResult, done); err != nil {
			b.Error(err)
		}
	}}))
	conn, err := overTCP.dial(b.Context(), addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the benchmark is over
	read := func() hearing {
		data, err := conn.Read(func(wire.Frame) {})
		if err != nil {
			b.Fatal(err)
		}
		return f.read(data).kind
	}
	write := func(frames ...wire.Frame) {
		if err := conn.Write(frames); err != nil {
			b.Fatal(err)
		}
	}
	write(wire.Frame{Kind: wire.KindData, Data: []byte(f.introduce(name))})
	if kind := read(); kind != heardWelcome {
		b.Fatalf("got %d", kind)
	}
	const window, first = 64, 1_000_000_000
	next := first
	frames := make([]wire.Frame, window)
	template := []byte(f.ask(name, "id-"+fmt.Sprint(first), "Jules", "double", 1))
	number := func(n int) []wire.Frame {
		for i := range n {
			frames[i] = wire.Frame{Kind: wire.KindData, Data: bytes.ReplaceAll(template, fmt.Append(nil, first), fmt.Append(nil, next))}
			next++
		}
		return frames[:n]
	}
	b.SetBytes(int64(len(template)))
	b.ReportAllocs()
	b.ResetTimer()
	sent := min(window, b.N)
	write(number(sent)...)
	for back := 0; back < b.N; {
		if _, err := conn.Read(func(wire.Frame) {}); err != nil {
			b.Fatal(err)
		}
		if back++; back%(window/4) == 0 && sent < b.N { // a quarter of the window is written at a time
			n := min(window/4, b.N-sent)
			write(number(n)...)
			sent += n
		}
	}
	b.StopTimer()
	b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	if c := h.Counts(); c.Refused+c.DeadLetters > 0 {
		b.Errorf("refused: %+v", c)
	}
}
