package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// The tokens of the test agents. Each test checks that no log and no answer contains them.
const (
	tokenCRM   = "crm-Vq0m8cQy5m3kz7o2hZ4p1A"
	tokenEddy  = "eddy-cR8dXw2nT6uJf9aLs3kEyQ"
	tokenWrong = "wrong-mP4tYh7bN1vGxK5wQj8ZsA"
)

func knownTokens(t *testing.T) wire.Authenticator {
	t.Helper()
	a, err := auth.Tokens([]auth.Token{{Value: tokenCRM, Name: "crm"}, {Value: tokenEddy, Name: "eddy", Scopes: []string{"admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lineDialect is the test dialect with one message per line and refusals as error objects.
type lineDialect struct{ wiretest.Dialect }

func (b lineDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := b.Dialect.Open(o)
	return lineCodec{c}, err
}

type lineCodec struct{ wire.Codec }

func (l lineCodec) Decode(frame []byte, take func(wire.Inbound)) {
	for line := range bytes.Lines(frame) {
		l.Codec.Decode(line, take)
	}
}

func (lineCodec) Refuse(dst []byte, _ wire.Inbound, err error) []byte {
	return append(dst, wire.ErrorObjectOf(err).JSON()...)
}

// testServer is a server for a test in a synctest bubble.
type testServer struct {
	t        *testing.T
	server   *wire.Server
	received *wiretest.Recorder
	log      bytes.Buffer // not locked: one session writes at a time, because tests call synctest.Wait in between
}

func newTestServer(t *testing.T, o wire.Options, change ...func(*wire.Options)) *testServer {
	t.Helper()
	e := &testServer{t: t, received: &wiretest.Recorder{}}
	o.Handler, o.Dialects = e.received, []wire.Dialect{lineDialect{}}
	o.Logger = slog.New(slog.NewJSONHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.KeepAlive = wire.KeepAlive{Interval: -1, Timeout: -1}
	for _, fn := range change {
		fn(&o)
	}
	server, err := wire.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	e.server = server
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		noToken(t, "the log", e.log.String())
	})
	return e
}

func noToken(t *testing.T, where, text string) {
	t.Helper()
	for _, token := range []string{tokenCRM, tokenEddy, tokenWrong} {
		if strings.Contains(text, token) {
			t.Errorf("a token is in %s: %s", where, text)
		}
	}
}

// testClient is the far end of a session.
type testClient struct {
	t      *testing.T
	conn   wire.Conn
	served chan error // why the session ended

	mu       sync.Mutex
	received []string
}

// connect opens a session. id is the identity that the connection proved.
func (e *testServer) connect(id *wire.Identity) *testClient {
	near, far := wiretest.Pipe()
	v := &testClient{t: e.t, conn: near, served: make(chan error, 1)}
	go func() { v.served <- e.server.Serve(far, id) }()
	go func() {
		for {
			data, err := near.Read(func(f wire.Frame) {
				if f.Err != nil {
					v.record("given up: " + string(wire.ErrorObjectOf(f.Err).JSON()))
				}
			})
			if err != nil {
				return
			}
			v.record(string(data))
		}
	}()
	e.t.Cleanup(func() { _ = near.Close() })
	return v
}

func (v *testClient) record(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.received = append(v.received, text)
}

// send writes messages in one frame and returns the answers. It returns an empty string when
// all are accepted.
func (v *testClient) send(messages ...string) string {
	v.t.Helper()
	_ = v.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Join(messages, "\n"))}}) // fails when the session has ended
	synctest.Wait()
	return v.answers()
}

// answers returns the answers since the last call.
func (v *testClient) answers() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := strings.Join(v.received, "\n")
	v.received = nil
	noToken(v.t, "an answer", text)
	return text
}

// expect sends a message and checks the answer: an error code, or empty for none.
func (v *testClient) expect(code, message string) {
	v.t.Helper()
	got := v.send(message)
	if (code == "") != (got == "") || !strings.Contains(got, `"code":"`+code) && code != "" {
		v.t.Errorf("answer %q, want %q\nto %s", got, code, message)
	}
}

// ended returns why the session has ended, and whether it has.
func (v *testClient) ended() (error, bool) {
	select {
	case err := <-v.served:
		return err, true
	default:
		return nil, false
	}
}

// message returns a message of the test dialect with a new id and the current time.
func message(from, token string) string {
	return messageOf(string(performatives.NewID()), from, token, time.Now())
}

func messageOf(id, from, token string, at time.Time) string {
	b, err := json.Marshal(map[string]any{"ID": id, "act": "INFORM", "From": from, "To": "b", "Token": token, "Time": at.UnixNano(), "Payload": map[string]any{}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestSenderMustBeAuthenticated(t *testing.T) {
	ids := func(list ...performatives.AgentID) []performatives.AgentID { return list }
	for name, tt := range map[string]struct {
		who       wire.Identity
		good, bad []string
	}{
		"a name":             {wire.Identity{Name: "crm"}, []string{"crm", "CRM", "crm/invoices", "crm/a/b"}, []string{"crm2", "eddy", "cr", "crm.x", "x/crm", "*"}},
		"below":              {wire.Identity{Name: "crm/invoices"}, []string{"crm/invoices", "crm/invoices/x"}, []string{"crm", "crm/other"}},
		"further agents":     {wire.Identity{Name: "crm", Agents: ids("eddy")}, []string{"crm", "eddy", "Eddy/x"}, []string{"jules"}},
		"further, no name":   {wire.Identity{Agents: ids("eddy")}, []string{"eddy"}, []string{"jules"}},
		"all":                {wire.Identity{Name: "gateway", Agents: ids("*")}, []string{"gateway", "eddy"}, nil},
		"neither":            {wire.Identity{}, []string{"crm", "eddy"}, nil},
		"a name that is all": {wire.Identity{Name: "*"}, []string{"*"}, []string{"eddy"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestServer(t, wire.Options{Auth: knownTokens(t)})
				v := e.connect(&tt.who)
				for _, from := range tt.good {
					v.expect("", message(from, ""))
				}
				for _, from := range tt.bad {
					v.expect("FORBIDDEN", message(from, ""))
				}
				if got := len(e.received.Received()); got != len(tt.good) {
					t.Errorf("%d messages were received, want %d", got, len(tt.good))
				}
			})
		})
	}
}

func TestIdentityExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expires := func(d time.Duration) authenticator {
			return func(c wire.Credentials) (wire.Identity, error) {
				if c.Token != tokenCRM {
					return wire.Identity{Name: "crm", Expires: time.Now().Add(time.Hour)}, nil
				}
				return wire.Identity{Name: "crm", Expires: time.Now().Add(d)}, nil
			}
		}
		e := newTestServer(t, wire.Options{Auth: expires(time.Minute)})
		byToken, byConn := e.connect(nil), e.connect(&wire.Identity{Name: "crm", Expires: time.Now().Add(time.Minute)})
		byToken.expect("", message("crm", tokenCRM))
		byConn.expect("", message("crm", ""))
		time.Sleep(time.Minute - time.Nanosecond)
		byToken.expect("", message("crm", tokenCRM))
		byConn.expect("", message("crm", ""))
		time.Sleep(time.Nanosecond)
		byToken.expect("UNAUTHORIZED", message("crm", tokenCRM))
		byConn.expect("UNAUTHORIZED", message("crm", ""))
		byToken.expect("", message("crm", tokenEddy)) // a new token
		byConn.expect("", message("crm", tokenEddy))
		byConn.expect("UNAUTHORIZED", message("crm", ""))
		if n := len(e.received.Received()); n != 6 {
			t.Errorf("%d messages were received, want 6", n)
		}
	})
}

// authenticator adapts a function to wire.Authenticator.
type authenticator func(wire.Credentials) (wire.Identity, error)

func (a authenticator) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	return a(c)
}

func TestTwoIdentitiesOnOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t)})
		v := e.connect(nil)
		v.expect("UNAUTHORIZED", message("crm", ""))
		for range 3 {
			v.expect("", message("crm", tokenCRM))
			v.expect("FORBIDDEN", message("eddy", tokenCRM))
			v.expect("", message("eddy", tokenEddy))
			v.expect("FORBIDDEN", message("crm", tokenEddy))
			v.expect("UNAUTHORIZED", message("crm", tokenWrong))
			v.expect("UNAUTHORIZED", message("eddy", "")) // each message has to carry its token
		}
		own := e.connect(&wire.Identity{Name: "jules"})
		own.expect("", message("jules", ""))
		own.expect("", message("crm", tokenCRM))
		own.expect("", message("jules", "")) // the identity of the connection applies again
		own.expect("FORBIDDEN", message("crm", ""))
		own.expect("UNAUTHORIZED", message("jules", tokenWrong))
	})
}

func TestUnauthenticatedSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), AuthTime: 5 * time.Second})
		silent, wrong, good, own := e.connect(nil), e.connect(nil), e.connect(nil), e.connect(&wire.Identity{Name: "crm"})
		synctest.Wait()
		time.Sleep(5*time.Second - time.Nanosecond)
		wrong.expect("UNAUTHORIZED", message("crm", tokenWrong))
		wrong.expect("UNAUTHORIZED", message("crm", ""))
		good.expect("", message("crm", tokenCRM))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		for name, v := range map[string]*testClient{"silent": silent, "wrong": wrong} {
			if text := v.answers(); !strings.Contains(text, "given up") || !strings.Contains(text, "UNAUTHORIZED") {
				t.Errorf("%s: answer %q after 5 s", name, text)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for name, v := range map[string]*testClient{"silent": silent, "wrong": wrong} {
			if err, over := v.ended(); !over || !errors.Is(err, performatives.CodeUnauthorized) {
				t.Errorf("%s: ended %v, %v", name, over, err)
			}
		}
		for name, v := range map[string]*testClient{"good": good, "own": own} {
			if err, over := v.ended(); over {
				t.Errorf("%s: the session has ended: %v", name, err)
			}
		}
	})
}

func TestUnauthenticatedFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), Limits: wire.Limits{Unauthenticated: 1000}})
		long := message("crm", tokenCRM) + strings.Repeat(" ", 1000)
		if got := e.connect(nil).send(long); !strings.Contains(got, "given up") {
			t.Errorf("a long frame before authentication: %q", got)
		}
		v := e.connect(nil)
		v.expect("", message("crm", tokenCRM))
		v.expect("", long)
		e.connect(&wire.Identity{Name: "crm"}).expect("", long)
	})
}

func TestBadTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		known := knownTokens(t)
		counting := authenticator(func(c wire.Credentials) (wire.Identity, error) {
			asked++
			return known.Authenticate(t.Context(), c)
		})
		e := newTestServer(t, wire.Options{Auth: counting})
		v := e.connect(nil)
		for range 3 { // seven in a row are tolerated
			for range 7 {
				v.expect("UNAUTHORIZED", message("crm", tokenWrong))
			}
			v.expect("", message("crm", tokenCRM))
		}
		for range 7 {
			v.expect("UNAUTHORIZED", message("crm", tokenWrong))
		}
		if got := v.send(message("crm", tokenWrong)); !strings.Contains(got, "given up") {
			t.Errorf("the eighth: %q", got)
		}
		asked = 0
		batch := make([]string, 100)
		for i := range batch {
			batch[i] = message("crm", tokenWrong)
		}
		before := len(e.received.Received())
		v = e.connect(nil)
		if got := v.send(append(batch, message("crm", tokenCRM))...); asked != 8 || !strings.Contains(got, "given up") {
			t.Errorf("a batch of tokens: %d were verified, %q", asked, got)
		}
		if n := len(e.received.Received()); n != before {
			t.Error("a message after the rejected tokens was accepted")
		}
	})
}

// limitOf decodes the details of an answer.
func limitOf(t *testing.T, answer string) wire.ErrorDetails {
	t.Helper()
	var o wire.ErrorObject
	if err := json.Unmarshal([]byte(answer), &o); err != nil || o.Code != "RATE_LIMIT_EXCEEDED" || o.Details == nil {
		t.Fatalf("the answer is %q, %v", answer, err)
	}
	return *o.Details
}

func TestConnectionRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), ConnectionRate: wire.Rate{Messages: 3, Window: time.Minute}})
		v, other := e.connect(&wire.Identity{Name: "crm"}), e.connect(&wire.Identity{Name: "crm"})
		for range 3 {
			v.expect("", message("crm", ""))
		}
		if got, want := limitOf(t, v.send(message("crm", ""))), (wire.ErrorDetails{Limit: 3, Window: "1m", RetryAfter: 20}); got != want {
			t.Errorf("details %+v, want %+v", got, want)
		}
		other.expect("", message("crm", "")) // the rate is per connection
		time.Sleep(15 * time.Second)
		if got := limitOf(t, v.send(message("crm", ""))); got.RetryAfter != 5 {
			t.Errorf("retry after %d s, want 5", got.RetryAfter)
		}
		time.Sleep(5 * time.Second)
		v.expect("", message("crm", ""))
		v.expect("RATE_LIMIT_EXCEEDED", message("crm", ""))
		if n := len(e.received.Received()); n != 5 {
			t.Errorf("%d messages were received, want 5", n)
		}
	})
}

func TestAgentRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), AgentRate: wire.Rate{Messages: 4, Window: time.Minute}})
		a, b, eddy := e.connect(&wire.Identity{Name: "crm"}), e.connect(nil), e.connect(&wire.Identity{Name: "eddy"})
		a.expect("", message("crm", ""))
		b.expect("", message("CRM", tokenCRM))
		a.expect("", message("crm/1", ""))
		b.expect("", message("crm/2", tokenCRM))
		for i, v := range []*testClient{a, b, a, b} {
			from := fmt.Sprintf("crm/%d", i+3) // a name without earlier messages
			if got, want := limitOf(t, v.send(message(from, map[bool]string{true: tokenCRM}[v == b]))), (wire.ErrorDetails{Limit: 4, Window: "1m", RetryAfter: 15}); got != want {
				t.Errorf("details %+v, want %+v", got, want)
			}
		}
		eddy.expect("", message("eddy", ""))
		eddy.expect("FORBIDDEN", message("crm", "")) // it does not count against the rate of crm
		time.Sleep(15 * time.Second)
		b.expect("", message("crm", tokenCRM))
		a.expect("RATE_LIMIT_EXCEEDED", message("crm", ""))
	})
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = time.Minute
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), ReplayWindow: window})
		a, b, eddy := e.connect(&wire.Identity{Name: "crm"}), e.connect(&wire.Identity{Name: "crm"}), e.connect(&wire.Identity{Name: "eddy"})
		m := messageOf("1", "crm", "", time.Now())
		a.expect("", m)
		a.expect("", m) // a repetition in the same session
		b.expect("UNAUTHORIZED", m)
		b.expect("UNAUTHORIZED", messageOf("1", "CRM", "", time.Now())) // sender names are case-insensitive
		b.expect("", messageOf("2", "crm", "", time.Now()))
		b.expect("", messageOf("1", "crm", "", time.Now().Add(time.Millisecond))) // the same id at another time: clients number their messages from one
		eddy.expect("", messageOf("1", "eddy", "", time.Now()))
		time.Sleep(window)
		late := messageOf("3", "crm", "", time.Now().Add(window)) // remains acceptable for two windows
		a.expect("", late)
		for range 7 { // across generations
			time.Sleep(window/4 + window/40)
			b.expect("UNAUTHORIZED", late)
		}
	})
}

func TestTimestampWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), ReplayWindow: time.Minute})
		v := e.connect(&wire.Identity{Name: "crm"})
		for _, d := range []time.Duration{0, -time.Minute, time.Minute} {
			v.expect("", messageOf("1", "crm", "", time.Now().Add(d)))
		}
		for _, d := range []time.Duration{-time.Minute - 1, time.Minute + 1, -1000 * time.Hour} {
			got := v.send(messageOf("1", "crm", "", time.Now().Add(d)))
			if !strings.Contains(got, "UNAUTHORIZED") || !strings.Contains(got, `"field":"timestamp"`) {
				t.Errorf("timestamp %v from now: %q", d, got)
			}
		}
	})
}

func TestAuthorizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := auth.ParseRules([]byte(`[{"scope":"admin","allow":["b"]}]`))
		if err != nil {
			t.Fatal(err)
		}
		authorize, err := rules.Authorizer()
		if err != nil {
			t.Fatal(err)
		}
		e := newTestServer(t, wire.Options{Auth: knownTokens(t), Authorize: authorize})
		v := e.connect(nil)
		v.expect("", message("eddy", tokenEddy))
		got := v.send(message("crm", tokenCRM))
		if !strings.Contains(got, "FORBIDDEN") || strings.Contains(got, "rule") {
			t.Errorf("the answer is %q, want forbidden without the reason", got)
		}
		if !strings.Contains(e.log.String(), "no rule permits it") {
			t.Error("the log does not hold the reason")
		}
	})
}

// A peer learns only that its authentication failed. The log holds the reason.
func TestAuthenticationFailureHidesTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &performatives.Refusal{Code: performatives.CodeUnauthorized}
		var err error
		e := newTestServer(t, wire.Options{Auth: authenticator(func(wire.Credentials) (wire.Identity, error) { return wire.Identity{}, err })})
		for name, tt := range map[string]struct {
			err    error
			answer string
			logged bool
		}{
			"a refusal":           {refusal, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"a refusal, with why": {fmt.Errorf("secret reason: %w", refusal), `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"any error":           {errors.New("secret reason"), `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"internal failure":    {fmt.Errorf("secret reason: %w", &performatives.Refusal{Code: performatives.CodeInternal}), `{"code":"INTERNAL_ERROR","message":"the agent failed"}`, true},
			"a token of no form":  {wire.ErrNoCredentials, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"rejected by auth":    {&auth.RejectedError{Method: "jwt", Reason: "secret reason"}, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
		} {
			e.log.Reset()
			err = tt.err
			if got := e.connect(nil).send(message("crm", tokenWrong)); got != tt.answer {
				t.Errorf("%s: %s, want %s", name, got, tt.answer)
			}
			if got := strings.Contains(e.log.String(), "authentication failed"); got != tt.logged {
				t.Errorf("%s: logged %v, want %v: %s", name, got, tt.logged, e.log.String())
			}
			if _, got := e.server.Authenticate(t.Context(), wire.Credentials{Token: tokenWrong}); strings.Contains(got.Error(), "secret") {
				t.Errorf("%s: a transport gets %v", name, got)
			}
			_, _ = e.server.Authenticate(t.Context(), wire.Credentials{}) // without a token there is nothing to log
			want := 0
			if errors.Is(tt.err, wire.ErrNoCredentials) {
				want = 2 // of the message, and of the transport
			}
			if n := strings.Count(e.log.String(), "no authenticator checks a token of this form"); n != want {
				t.Errorf("%s: logged %d times as unchecked", name, n)
			}
		}
	})
}

// Failures of this end do not count as rejected tokens.
func TestInternalFailureIsNoBadToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		known := knownTokens(t)
		e := newTestServer(t, wire.Options{Auth: authenticator(func(c wire.Credentials) (wire.Identity, error) {
			if down {
				return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeInternal}
			}
			return known.Authenticate(t.Context(), c)
		})})
		v := e.connect(nil)
		for range 20 {
			v.expect("INTERNAL_ERROR", message("crm", tokenCRM))
		}
		down = false
		v.expect("", message("crm", tokenCRM))
	})
}

// A token is ignored when the authenticator checks certificates only.
func TestUncheckedTokenIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certificates, err := auth.Certificates(auth.CertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e := newTestServer(t, wire.Options{Auth: certificates})
		e.connect(&wire.Identity{Name: "crm"}).expect("", message("crm", tokenWrong))
		e.connect(nil).expect("UNAUTHORIZED", message("crm", tokenWrong))
		e.connect(&wire.Identity{Name: "crm"}).expect("FORBIDDEN", message("eddy", tokenEddy))
	})
}

func TestCredentialsShowNoToken(t *testing.T) {
	c := wire.Credentials{Token: tokenCRM, Peer: wire.Peer{Addr: "192.0.2.1:5"}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "c", c)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", c, c, &c, c, c, c), log.String()} {
		noToken(t, "the text", text)
		if !strings.Contains(text, "192.0.2.1:5") {
			t.Errorf("%s does not contain the peer's address", text)
		}
	}
}
