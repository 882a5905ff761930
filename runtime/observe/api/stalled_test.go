package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// A reader that takes nothing delays neither whoever sends messages nor other readers, and is told
// how many events it has lost.
func TestStalledReader(t *testing.T) {
	n, h, _ := serve(t, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Handler.ServeHTTP(patient{w}, r) }))
	t.Cleanup(server.Close) // after the connections, which a handler may be writing to
	open := func() *bufio.Reader {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		if _, err := fmt.Fprintf(c, "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		until(t, r, ": events of")
		return r
	}
	stalled, good := open(), open()
	payload := performatives.Raw(`{"x":"` + strings.Repeat("x", 1<<10) + `"}`)
	const batches, batch = 10, 1000 // more than the buffer of the node's socket, at most 4 MiB, and the 4096 events that may wait
	for i := range batches * batch {
		id := performatives.MessageID(fmt.Sprint("m", i))
		m, err := performatives.New(performatives.Envelope{ID: id, Timestamp: time.Now(), Performative: performatives.ActInform, Sender: "a", Receiver: "b", Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{At: events.At{Time: time.Now()}, Message: m})
		if (i+1)%batch == 0 {
			for k := i + 1 - batch; k <= i; k++ {
				if line := until(t, good, "data: ", `event: lost`); !strings.Contains(line, fmt.Sprintf(`"id":"m%d"`, k)) {
					t.Fatalf("the good reader gets %.200q in the place of message %d", line, k)
				}
			}
		}
	}
	line := until(t, stalled, `"lost":`)
	var lost int
	if _, err := fmt.Sscanf(line, `data: {"lost":%d,`, &lost); err != nil || lost < 1 || lost >= batches*batch {
		t.Errorf("%v: the stalled reader is told %q", err, line)
	}
	if err := description(t).checkAnswer("GET /api/events", http.StatusOK, "text/event-stream", []byte("event: lost\n"+line+"\n")); err != nil {
		t.Error(err)
	}
}

// patient is an answer that waits for its reader as long as it takes: the rest of the test may take
// longer than the 30 s after which a reader is cut off.
type patient struct{ http.ResponseWriter }

func (patient) SetWriteDeadline(time.Time) error { return nil }

func (p patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// until returns the first line that has one of the parts.
func until(t *testing.T, r *bufio.Reader, parts ...string) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("before %q: %v", parts, err)
		}
		for _, part := range parts {
			if strings.Contains(line, part) {
				return line
			}
		}
	}
}
