package ws

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/wire"
)

// crowdEnv makes a test binary one that only connects: its value is an address and a
// number.
const crowdEnv = "WS_CROWD"

// crowd connects as often as it is told to, and stays until its input ends. It reports
// whether this process is such a one.
func crowd() bool {
	var addr string
	var n int
	if _, err := fmt.Sscan(os.Getenv(crowdEnv), &addr, &n); err != nil {
		return false
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			fmt.Println(err)
			return true
		}
		_, _ = conns[i].Write([]byte(handshake))
		if r, err := http.ReadResponse(bufio.NewReader(conns[i]), nil); err != nil || r.StatusCode != http.StatusSwitchingProtocols {
			fmt.Println("no upgrade", err)
			return true
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	goruntime.KeepAlive(conns)
	return true
}

// BenchmarkIdle has 10,000 connections, upgraded and silent, of which the other ends are
// sockets of a process of their own, over loopback. It reports what the Go runtime of
// this process has in use for each, in heap and in stacks: with gorilla as it is, one
// handler that reads a connection; and with sessions. What the kernel needs is not in it.
func BenchmarkIdle(b *testing.B) {
	const n = 10_000
	b.Run("gorilla", func(b *testing.B) {
		var open atomic.Int64
		all := make(chan struct{})
		h := idleGorilla(func() {
			if open.Add(1) == n {
				close(all)
			}
		})
		server := httptest.NewServer(h)
		defer server.Close()
		idle(b, server.Listener.Addr().String(), n, func() { <-all })
	})
	b.Run("session", func(b *testing.B) {
		h := start(b, Options{}, func(o *wire.Options) { o.KeepAlive = wire.KeepAlive{Interval: -1, Timeout: -1} })
		idle(b, h.Addr().String(), n, func() { h.Session(b, n-1) })
	})
}

// idleGorilla reads, as the examples of gorilla do.
func idleGorilla(opened func()) http.Handler {
	var up websocket.Upgrader
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		opened()
		for err == nil {
			_, _, err = c.ReadMessage()
		}
	})
}

// idle measures a crowd.
func idle(b *testing.B, addr string, n int, await func()) {
	b.Helper()
	heap, stack := inUse()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", crowdEnv, addr, n))
	in, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		b.Errorf("the crowd says %q", line)
	} else {
		await()
		moreHeap, moreStack := inUse()
		b.ReportMetric(float64(moreHeap-heap)/float64(n), "heap-B/conn")
		b.ReportMetric(float64(moreStack-stack)/float64(n), "stack-B/conn")
		b.ReportMetric(float64(moreHeap-heap+moreStack-stack)/float64(n), "B/conn")
		b.ReportMetric(0, "ns/op")
	}
	_ = in.Close()
	if err := child.Wait(); err != nil {
		b.Error(err)
	}
}

// inUse is what the runtime has in use when there is no garbage.
func inUse() (heap, stack uint64) {
	goruntime.GC()
	goruntime.GC() // what a pool holds goes with the second
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}
