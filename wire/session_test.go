package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// peer is the far end of a session, which sends and receives raw frames.
type peer struct {
	wire.Conn
	t *testing.T
}

// send writes data frames.
func (p peer) send(frames ...string) {
	p.t.Helper()
	for _, f := range frames {
		if err := p.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(f)}}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// receive returns the next data frame, or the text of the error.
func (p peer) receive() string {
	p.t.Helper()
	data, err := p.Read(func(wire.Frame) {})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// open opens a session with a server of the given options, for a test in a synctest bubble.
func open(t *testing.T, o wire.Options) (*wire.Server, *wiretest.Recorder, peer) {
	t.Helper()
	r := &wiretest.Recorder{}
	if o.Handler == nil {
		o.Handler = r
	}
	o.Dialects = []wire.Dialect{wiretest.Dialect{}}
	o.Anonymous = o.Auth == nil
	s, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := wiretest.Pipe()
	go func() { _ = s.Serve(far, nil) }()
	t.Cleanup(func() {
		_ = near.Close()
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, r, peer{near, t}
}

const hello = `{"ID":"1","act":"INFORM","From":"a","To":"b","Time":1,"Payload":{"text":"hello"}}`

func TestHigherBandsAreWrittenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{})
		far.send(hello)
		s := r.Session(t, 0)
		send := func(p performatives.Priority, text string) {
			e := performatives.Envelope{Sender: "b", Receiver: "a", Performative: performatives.ActInform, Priority: p, Payload: wiretest.Raw(text)}
			if err := s.Send(wiretest.Of(t, e)); err != nil {
				t.Fatal(err)
			}
		}
		send(performatives.Low, "being written")
		synctest.Wait()
		for _, p := range []performatives.Priority{performatives.Low, performatives.Normal, performatives.High, performatives.Urgent} {
			send(p, p.String()+" 1")
			send(p, p.String()+" 2")
		}
		want := []string{"being written", "urgent 1", "urgent 2", "high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"}
		for _, w := range want {
			if got := far.receive(); !strings.Contains(got, w) {
				t.Errorf("got %s, want %s", got, w)
			}
		}
	})
}

// The queued messages are bounded in bytes as well as in number.
func TestBacklogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{Limits: wire.Limits{Backlog: 100_000}})
		far.send(hello)
		s := r.Session(t, 0)
		send := func() error { return s.Send(wiretest.Message(t, "b", "a", wiretest.Long(40_000))) }
		if err := send(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the first message is being written
		for i, want := range []error{nil, nil, performatives.CodeBusy} {
			if err := send(); !errors.Is(err, want) {
				t.Errorf("message %d: %v, want %v", i, err, want)
			}
		}
		for range 3 {
			far.receive()
		}
		synctest.Wait()
		if err := s.Send(wiretest.Message(t, "b", "a", wiretest.Long(1_000_000))); err != nil {
			t.Errorf("a long message in an empty outbox: %v", err)
		}
		far.receive()
	})
}

// The reader stops when the answers of a peer that does not read them fill the outbox.
func TestReaderStopsWhenAnswersAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, far := open(t, wire.Options{Limits: wire.Limits{OutboxBytes: 4 << 10}})
		said := make(chan int, 1)
		go func() {
			n := 0
			for ; n < 100_000; n++ {
				if far.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte("nonsense")}}) != nil {
					break
				}
			}
			said <- n
		}()
		synctest.Wait()
		if refused := s.Counts().Refused; refused == 0 || refused > 100 {
			t.Errorf("%d messages were read although the answers are not read", refused)
		}
		_ = far.Close()
		<-said
	})
}

func TestPeerReceivesRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := wire.Options{}
		r := &wiretest.Recorder{Answer: func(_ *wire.Session, m *performatives.Message) error {
			if wiretest.Text(m) == "secret" {
				return errors.New("the database password is 1234")
			}
			return &performatives.Refusal{Code: performatives.CodeUnknownAgent, Text: "there is no agent b"}
		}}
		o.Handler = r
		s, _, far := open(t, o)
		far.send(hello)
		if got := far.receive(); !strings.Contains(got, "agent_not_found") || !strings.Contains(got, "there is no agent b") {
			t.Errorf("a refusal by the handler: %s", got)
		}
		far.send(strings.Replace(hello, "hello", "secret", 1))
		if got := far.receive(); !strings.Contains(got, "internal_error") || strings.Contains(got, "1234") {
			t.Errorf("an error of the handler: %s", got)
		}
		far.send("nonsense")
		if got := far.receive(); !strings.Contains(got, "parsing_error") {
			t.Errorf("nonsense: %s", got)
		}
		if c := s.Counts(); c.Refused != 3 || c.Received != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// picky is a dialect that recognizes no frame.
type picky struct{ wiretest.Dialect }

// Name returns "picky".
func (picky) Name() string { return "picky" }

// Recognizes returns false.
func (picky) Recognizes([]byte) bool { return false }

// A frame that cannot be read, or is no message of any dialect, does not fix the dialect of a
// session.
func TestUnreadableFrameDecidesNoDialect(t *testing.T) {
	for _, first := range []string{"nonsense", "{nope", `{"act":"INFORM",nope`, `{"text":"no act"}`} {
		synctest.Test(t, func(t *testing.T) {
			r := &wiretest.Recorder{}
			s, err := wire.NewServer(wire.Options{Handler: r, Dialects: []wire.Dialect{picky{}, wiretest.Dialect{}}, Anonymous: true})
			if err != nil {
				t.Fatal(err)
			}
			near, end := wiretest.Pipe()
			go func() { _ = s.Serve(end, nil) }()
			far := peer{near, t}
			for range 2 {
				far.send(first)
				far.receive() // it is refused
			}
			session := r.Session(t, 0)
			if got := session.Dialect(); got != "" {
				t.Errorf("%s fixed the dialect %s", first, got)
			}
			far.send(hello)
			synctest.Wait()
			if got := session.Dialect(); got != "test" {
				t.Errorf("after %s and a message the dialect is %q", first, got)
			}
			if c := s.Counts(); c.Refused != 2 || c.Received != 1 {
				t.Errorf("%+v", c)
			}
			_ = near.Close()
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A session whose peer is silent ends after KeepAlive.Timeout.
func TestSilentSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{KeepAlive: wire.KeepAlive{Interval: 5 * time.Second, Timeout: 10 * time.Second}})
		begun := time.Now()
		go far.receive()
		if err := r.AwaitEnd(t, 1)[0]; !errors.Is(err, wire.ErrDead) {
			t.Errorf("ended with %v", err)
		}
		if got := time.Since(begun); got != 10*time.Second {
			t.Errorf("ended after %v", got)
		}
	})
}

// Messages that were not written when the peer disconnects are returned.
func TestUnwrittenMessagesAreReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r, far := open(t, wire.Options{})
		session := r.Session(t, 0)
		if err := session.Send(wiretest.Message(t, "b", "a", "queued before the dialect is known")); err != nil {
			t.Fatal(err)
		}
		far.send(hello)
		synctest.Wait() // the message is being written
		for i := range 3 {
			if err := session.Send(wiretest.Message(t, "b", "a", fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		_ = far.Close()
		r.AwaitEnd(t, 1)
		if got := len(r.Undeliverable()); got != 4 {
			t.Errorf("%d messages were returned, want 4", got)
		}
		if c := s.Counts(); c.Sent != 0 || c.Undelivered != 4 {
			t.Errorf("%+v", c)
		}
	})
}

// A panic of the handler ends the session and not the process.
func TestPanicEndsTheSessionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &wiretest.Recorder{Answer: func(*wire.Session, *performatives.Message) error { panic("no") }}
		_, _, far := open(t, wire.Options{Handler: r})
		far.send(hello)
		if err := r.AwaitEnd(t, 1)[0]; err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("ended with %v", err)
		}
	})
}

// panickingPayload is a payload whose encoding panics.
type panickingPayload struct{}

// MarshalJSON panics.
func (panickingPayload) MarshalJSON() ([]byte, error) { panic("no") }

func TestPanickingPayloadIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{})
		far.send(hello)
		for _, payload := range []any{performatives.QueryIf{Condition: performatives.ContentOf(panickingPayload{})}, performatives.QueryIf{Condition: performatives.ContentOf(1)}} {
			if err := r.Session(t, 0).Send(wiretest.Of(t, performatives.Envelope{Sender: "b", Receiver: "a", Payload: payload})); err != nil {
				t.Fatal(err)
			}
		}
		if got := far.receive(); !strings.Contains(got, "QUERY_IF") {
			t.Errorf("the session did not continue: %s", got)
		}
		if got := len(r.Undeliverable()); got != 1 {
			t.Errorf("%d messages were returned, want 1", got)
		}
	})
}

func TestServerOptions(t *testing.T) {
	ok := func() wire.Options { return wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true} }
	for name, c := range map[string]struct {
		change func(*wire.Options)
		want   string
	}{
		"no handler":         {func(o *wire.Options) { o.Handler = nil }, "Options.Handler"},
		"no Auth":            {func(o *wire.Options) { o.Anonymous = false }, "Options.Auth"},
		"no window":          {func(o *wire.Options) { o.AgentRate.Messages = 1 }, "Options.AgentRate"},
		"a negative limit":   {func(o *wire.Options) { o.Limits.Outbox = -1 }, "Options.Limits.Outbox"},
		"a missing dialect":  {func(o *wire.Options) { o.Dialects = []wire.Dialect{nil} }, "Options.Dialects[0]"},
		"a negative window":  {func(o *wire.Options) { o.ReplayWindow = -1 }, "Options.ReplayWindow"},
		"no connections":     {func(o *wire.Options) { o.MaxConnections = -1 }, "Options.MaxConnections"},
		"a negative rate":    {func(o *wire.Options) { o.AcceptRate = wire.Rate{Messages: -1, Window: time.Second} }, "Options.AcceptRate"},
		"only a window":      {func(o *wire.Options) { o.ConnectionRate.Window = time.Second }, "Options.ConnectionRate"},
		"negative AuthTime":  {func(o *wire.Options) { o.AuthTime = -1 }, "Options.AuthTime"},
		"ping after timeout": {func(o *wire.Options) { o.KeepAlive.Interval = time.Minute }, "Options.KeepAlive"},
	} {
		o := ok()
		c.change(&o)
		if _, err := wire.NewServer(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want it to name %s", name, err, c.want)
		}
	}
}

// A session stores in a message when it arrived, and the weight of a long one.
func TestSessionsMarkMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, far := open(t, wire.Options{})
		long := `{"ID":"2","act":"INFORM","From":"a","To":"b","Time":1,"Payload":{"text":"` + strings.Repeat("x", 5000) + `"}}`
		far.send(hello, long, hello)
		for i, m := range r.Await(t, 3) {
			if weight := m.Weight(); weight > 0 != (i == 1) || weight > 0 && weight != m.Size() {
				t.Errorf("message %d weighs %d, and has %d bytes", i, weight, m.Size())
			}
			if now := time.Now(); !m.Arrived().Equal(now) {
				t.Errorf("message %d arrived at %v, not %v", i, m.Arrived(), now)
			}
		}
	})
}
