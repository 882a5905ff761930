package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func languages(t *testing.T) []wire.Dialect {
	t.Helper()
	d := gateway.New(gateway.Options{})
	return []wire.Dialect{d}
}

// serve runs a session of a server's at one end of a connection, and returns the other.
func serve(t *testing.T, server *wire.Server) wire.Conn {
	t.Helper()
	near, far := wiretest.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(near, nil) // its reason is not what is tested
	}()
	t.Cleanup(func() {
		_ = far.Close()
		<-done
	})
	return far
}

func newServer(t *testing.T, o wire.Options) *wire.Server {
	t.Helper()
	o.Dialects = languages(t)
	server, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// exchange writes a frame and reads the next.
func exchange(t *testing.T, conn wire.Conn, frame string) string {
	t.Helper()
	if err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
		t.Fatal(err)
	}
	answer, err := conn.Read(func(wire.Frame) {})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func frameAt(at time.Time, token, payload string) string {
	return fmt.Sprintf(`{"id":"e-1","timestamp":%q,"source":"peer","auth_token":%q,"mcp_payload":%s}`, at.Format(time.RFC3339Nano), token, payload)
}

type content interface {
	Act() performatives.Performative
}

// worker answers tasks: it accepts, reports, and is done.
func worker(s *wire.Session, m *performatives.Message) error {
	n := 0
	say := func(payload content) error {
		n++
		stamp := performatives.Stamp{ID: m.ID() + performatives.MessageID(fmt.Sprint("-", n)), Time: time.Now()}
		answer, err := m.ReplyFrom("Jules", stamp, payload.Act(), payload)
		if err != nil {
			return err
		}
		return s.Send(answer)
	}
	half := 50.0
	switch p := m.Payload().(type) {
	case performatives.TaskRequest:
		return errors.Join(
			say(performatives.TaskAccept{}),
			say(performatives.StatusUpdate{Progress: &half}),
			say(performatives.InformResult{Status: performatives.StatusSuccess, Summary: "did " + p.TaskType}))
	case performatives.QueryCapabilities:
		return say(performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Actions: []performatives.Action{{Name: "dig"}}}})
	}
	return nil
}

// Two ends of ours understand each other: introduction, tools, a task with its progress.
func TestTwoEnds(t *testing.T) {
	served := &wiretest.Recorder{Answer: worker}
	far := serve(t, newServer(t, wire.Options{Handler: served, Anonymous: true}))
	got := &wiretest.Recorder{}
	s, err := wire.Connect(far, wire.Options{Handler: got, Dialects: languages(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Stop(ctx) // at once
	}()
	for i, payload := range []any{
		performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{Topics: []string{"Go"}, Ontologies: []string{"ex:music"}}},
		performatives.QueryCapabilities{Type: performatives.QuerySummary},
		performatives.TaskRequest{TaskType: "dig"},
	} {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(fmt.Sprint("q-", i)), Sender: "cli", Receiver: "Jules", Timestamp: time.Now(), Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	all := got.Await(t, 4)
	if q := served.Await(t, 1)[0].Payload().(performatives.QueryCapabilities); q.Capabilities == nil || !slices.Equal(q.Capabilities.Ontologies, []string{"ex:music"}) {
		t.Errorf("introduced by %+v", q.Capabilities)
	}
	var told []string
	for _, m := range all {
		told = append(told, fmt.Sprint(m.InReplyTo(), " ", m.Performative()))
	}
	want := "q-0 INFORM_CAPABILITIES, q-1 INFORM_CAPABILITIES, q-2 STATUS_UPDATE, q-2 INFORM_RESULT"
	if strings.Join(told, ", ") != want {
		t.Errorf("got %q, want %s", told, want)
	}
	if r := all[3].Payload().(performatives.InformResult); r.Summary != "did dig" || all[3].Sender() != "Jules" {
		t.Errorf("result %+v from %s", r, all[3].Sender())
	}
}

// oneToken lets the bearer of one token in.
type oneToken string

// Authenticate compares.
func (o oneToken) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if c.Token != string(o) {
		return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized}
	}
	return wire.Identity{Name: "peer", Method: "test"}, nil
}

// Whoever has recorded a frame and sends it again, on a connection of its own, is
// refused; a frame like it is not.
func TestReplay(t *testing.T) {
	server := newServer(t, wire.Options{Handler: &wiretest.Recorder{Answer: worker}, Auth: oneToken("sesame"), ReplayWindow: time.Minute})
	now := time.Now()
	call := func(id int) string {
		return frameAt(now, "Bearer sesame", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"a.b"}`, id))
	}
	if out := exchange(t, serve(t, server), call(1)); !strings.Contains(out, `"result"`) {
		t.Fatal(out)
	}
	if out := exchange(t, serve(t, server), call(1)); !strings.Contains(out, `"code":-32001`) {
		t.Errorf("replayed: %s", out)
	}
	if out := exchange(t, serve(t, server), call(2)); !strings.Contains(out, `"result"`) {
		t.Errorf("another: %s", out)
	}
}

// Without credentials each member of a batch is refused, and all of them in one answer.
func TestUnauthorizedBatch(t *testing.T) {
	handler := &wiretest.Recorder{Answer: worker}
	far := serve(t, newServer(t, wire.Options{Handler: handler, Auth: oneToken("sesame")}))
	batch := `[{"jsonrpc":"2.0","id":1,"method":"a.b"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"a.b"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`
	out := exchange(t, far, frameAt(time.Now(), "guess", batch))
	if n := strings.Count(out, `"code":-32001`); n != 3 || strings.Contains(out, "guess") || strings.Contains(out, `"result"`) {
		t.Errorf("got %s", out)
	}
	out = exchange(t, far, frameAt(time.Now(), "sesame", batch))
	if n := strings.Count(out, `"result"`); n != 3 || strings.Count(out, `"mcp_payload":[`) != 1 {
		t.Errorf("got %s", out)
	}
	if n := len(handler.Received()); n != 2 { // the call and the notification
		t.Errorf("the handler got %d messages", n)
	}
}

// What the session refuses, it refuses in wire's words too.
func TestRefusalNamesTheSource(t *testing.T) {
	far := serve(t, newServer(t, wire.Options{Handler: &wiretest.Recorder{}, Auth: oneToken("sesame")}))
	frame := strings.Replace(frameAt(time.Now(), "sesame", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0","capabilities":{"tools":true}}}`), `"source":"peer"`, `"source":"thief"`, 1)
	out := exchange(t, far, frame)
	if strings.Count(out, `"field":"source"`) != 2 || !strings.Contains(out, `"code":-32002`) {
		t.Errorf("got %s", out)
	}
}
