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

// clientsEnv makes a test binary a client process that only connects. Its value is an address
// and a number of connections.
const clientsEnv = "WS_CLIENTS"

// runClients opens the connections that clientsEnv asks for and holds them until stdin ends.
// It reports whether this process is such a client process.
func runClients() bool {
	var addr string
	var n int
	if _, err := fmt.Sscan(os.Getenv(clientsEnv), &addr, &n); err != nil {
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

// BenchmarkIdle opens 10,000 idle connections from a child process over loopback and reports
// the Go runtime's heap and stack memory of this process per connection: for plain gorilla
// with one reading handler per connection, and for sessions. Kernel memory is not included.
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
		measureIdle(b, server.Listener.Addr().String(), n, func() { <-all })
	})
	b.Run("session", func(b *testing.B) {
		h := start(b, Options{}, func(o *wire.Options) { o.KeepAlive = wire.KeepAlive{Interval: -1, Timeout: -1} })
		measureIdle(b, h.Addr().String(), n, func() { h.Session(b, n-1) })
	})
}

// idleGorilla reads in a loop, as gorilla's examples do.
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

// measureIdle measures the memory per connection.
func measureIdle(b *testing.B, addr string, n int, await func()) {
	b.Helper()
	heap, stack := inUse()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", clientsEnv, addr, n))
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

// inUse returns the heap and stack memory in use after garbage collection.
func inUse() (heap, stack uint64) {
	goruntime.GC()
	goruntime.GC() // a sync.Pool is emptied by the second collection
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}
