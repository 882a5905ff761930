package runtime_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// BenchmarkPeerEcho measures an agent that sends 1 KiB acl messages back to a peer over
// TCP, with a window of messages in flight. The baseline is a server that returns frames
// without decoding them. The peer is the same for both: it reads the available frames,
// and sends the same number in one write.
func BenchmarkPeerEcho(b *testing.B) {
	for _, window := range []int{64, 1} {
		b.Run(fmt.Sprintf("window=%d/raw", window), func(b *testing.B) { benchEcho(b, window, rawEcho(b)) })
		b.Run(fmt.Sprintf("window=%d/agent", window), func(b *testing.B) { benchEcho(b, window, agentEcho(b)) })
	}
}

// echoAgent replies to each INFORM by an INFORM.
type echoAgent struct{}

func (echoAgent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (echoAgent) Receive(c *actors.Context, m *performatives.Message) {
	answer, err := m.ReplyAs(c.Stamp(), performatives.ActInform, m.Payload())
	if err == nil {
		_ = c.Send(answer) // the error is that the peer has disconnected
	}
}

// agentEcho returns the address of a node with an echoAgent.
func agentEcho(b *testing.B) string {
	b.Helper()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = node.Stop(context.Background()) })
	if err := node.Spawn(b.Context(), "Echo", func() actors.Agent { return echoAgent{} }); err != nil {
		b.Fatal(err)
	}
	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	l, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Stop(context.Background()) })
	return l.Addr().String()
}

// rawEcho returns the address of a server that returns each frame, and flushes when its
// read buffer is empty.
func rawEcho(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // it has ended
				r, w := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)
				for frame := make([]byte, 2<<10); ; {
					if _, err := io.ReadFull(r, frame[:7]); err != nil {
						return
					}
					n := 7 + binary.BigEndian.Uint32(frame[3:])
					if _, err := io.ReadFull(r, frame[7:n]); err != nil {
						return
					}
					_, _ = w.Write(frame[:n])
					if r.Buffered() == 0 {
						_ = w.Flush() // the next read reports the error
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// frames reads the available whole frames.
type frames struct {
	conn net.Conn
	buf  []byte
	used int // number of bytes returned by next
}

func newFrames(c net.Conn) *frames { return &frames{conn: c, buf: make([]byte, 0, 256<<10)} }

// next returns at least one frame, and the number of frames.
func (f *frames) next() (whole []byte, n int, err error) {
	f.buf = slices.Delete(f.buf, 0, f.used)
	for f.used = 0; ; {
		for rest := f.buf[f.used:]; len(rest) >= 7; rest = f.buf[f.used:] {
			size := 7 + int(binary.BigEndian.Uint32(rest[3:]))
			if len(rest) < size {
				break
			}
			f.used += size
			n++
		}
		if n > 0 {
			return f.buf[:f.used], n, nil
		}
		got, err := f.conn.Read(f.buf[len(f.buf):cap(f.buf)])
		if err != nil {
			return nil, 0, io.EOF
		}
		f.buf = f.buf[:len(f.buf)+got]
	}
}

// benchEcho runs the peer of BenchmarkPeerEcho.
func benchEcho(b *testing.B, window int, addr string) {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the benchmark is over
	one := echoFrame(b)
	many := slices.Repeat(one, window)
	in := newFrames(conn)
	took := make([]time.Duration, 0, 1<<20)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	send := func(n int) {
		if _, err := conn.Write(many[:n*len(one)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	send(min(window, b.N))
	for sent, back := min(window, b.N), 0; back < b.N; {
		begun := time.Now()
		_, n, err := in.next()
		if err != nil {
			b.Fatal(err)
		}
		if len(took) < cap(took) {
			took = append(took, time.Since(begun))
		}
		back += n
		n = min(n, b.N-sent)
		if sent += n; n > 0 {
			send(n)
		}
	}
	b.StopTimer()
	if window == 1 {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	}
}

// echoFrame returns a frame with an acl message of 1 KiB.
func echoFrame(b *testing.B) []byte {
	b.Helper()
	body, err := json.Marshal(map[string]any{
		"mcp_version": "0.1.0", "message_id": "550e8400-e29b-41d4-a716-446655440000", "timestamp": "2026-01-15T10:30:45Z",
		"sender": map[string]string{"agent_id": "Peer"}, "receiver": map[string]string{"agent_id": "Echo"},
		"performative": "INFORM", "reply_with": "1", "language": "application/json", "ontology": "bench",
		"payload": map[string]string{"text": strings.Repeat("x", 742)},
	})
	if err != nil {
		b.Fatal(err)
	}
	if len(body) < 1000 || len(body) > 1050 {
		b.Fatalf("the message has %d bytes", len(body))
	}
	return append(binary.BigEndian.AppendUint32([]byte{'M', 'C', 1}, uint32(len(body))), body...)
}

// ends receives the final messages of tasks.
type ends struct {
	wiretest.Recorder
	of chan *performatives.Message
}

// Receive accepts a result or a refusal, and nothing else.
func (e *ends) Receive(_ *wire.Session, m *performatives.Message) error {
	if m.Performative() == performatives.ActInformResult || m.AsRefusal() != nil {
		e.of <- m
	}
	return nil
}

// BenchmarkNamespaceTask measures a peer's task for a namespace of many agents, with an
// action that all of them, one of them, or none of them has. The baseline is the same
// task for one agent by its id.
func BenchmarkNamespaceTask(b *testing.B) {
	for _, agents := range []int{10, 10_000} {
		h := newHub(b, noPeerOptions)
		for i := range agents - 1 {
			h.spawn(performatives.AgentID(fmt.Sprint("crm/", i)), newActionWorker("send_invoice", "list_invoices"))
		}
		h.spawn("crm/special", newActionWorker("audit"))
		for _, c := range []struct {
			name, action string
			to           performatives.AgentID
			code         performatives.Code
		}{
			{"by name", "audit", "crm/special", ""},
			{"one can", "audit", "crm", ""},
			{"all can", "send_invoice", "crm", ""},
			{"nobody can", "debug_code", "crm", performatives.CodeUnknownAction},
		} {
			b.Run(fmt.Sprintf("agents=%d/%s", agents, c.name), func(b *testing.B) {
				got := &ends{of: make(chan *performatives.Message, 1)}
				session, cut, err := h.dial(nil, got)
				if err != nil {
					b.Fatal(err)
				}
				defer cut()
				b.ReportAllocs()
				for b.Loop() {
					if err := session.Send(message(b, "Eddy", c.to, performatives.ActTaskRequest, with(task(c.action)))); err != nil {
						b.Fatal(err)
					}
					m := <-got.of
					if r := m.AsRefusal(); (r == nil) != (c.code == "") || r != nil && r.Code != c.code {
						b.Fatalf("got %v", m)
					}
				}
			})
		}
	}
}
