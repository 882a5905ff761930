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

// The tokens of the agents. Each test looks for them in its log and in all answers.
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

// batches is wiretest's dialect with a message a line, and refusals as wire's error object.
type batches struct{ wiretest.Dialect }

func (b batches) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := b.Dialect.Open(o)
	return lines{c}, err
}

type lines struct{ wire.Codec }

func (l lines) Decode(frame []byte, take func(wire.Inbound)) {
	for line := range bytes.Lines(frame) {
		l.Codec.Decode(line, take)
	}
}

func (lines) Refuse(dst []byte, _ wire.Inbound, err error) []byte {
	return append(dst, wire.ErrorObjectOf(err).JSON()...)
}

// entrance is a server, for a test in a bubble.
type entrance struct {
	t        *testing.T
	server   *wire.Server
	received *wiretest.Recorder
	log      bytes.Buffer // a session at a time writes: tests wait in between
}

func enter(t *testing.T, o wire.Options, change ...func(*wire.Options)) *entrance {
	t.Helper()
	e := &entrance{t: t, received: &wiretest.Recorder{}}
	o.Handler, o.Dialects = e.received, []wire.Dialect{batches{}}
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

// visitor is the far end of a session.
type visitor struct {
	t    *testing.T
	conn wire.Conn
	over chan error // why the session ended

	mu    sync.Mutex
	heard []string
}

// visit connects; id is what the connection proves.
func (e *entrance) visit(id *wire.Identity) *visitor {
	near, far := wiretest.Pipe()
	v := &visitor{t: e.t, conn: near, over: make(chan error, 1)}
	go func() { v.over <- e.server.Serve(far, id) }()
	go func() {
		for {
			data, err := near.Read(func(f wire.Frame) {
				if f.Err != nil {
					v.note("given up: " + string(wire.ErrorObjectOf(f.Err).JSON()))
				}
			})
			if err != nil {
				return
			}
			v.note(string(data))
		}
	}()
	e.t.Cleanup(func() { _ = near.Close() })
	return v
}

func (v *visitor) note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard = append(v.heard, text)
}

// say sends messages in one frame and returns the answers; nothing when all are let in.
func (v *visitor) say(messages ...string) string {
	v.t.Helper()
	_ = v.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(strings.Join(messages, "\n"))}}) // fails when the session has ended
	synctest.Wait()
	return v.hear()
}

// hear returns what the session has said since the last time.
func (v *visitor) hear() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := strings.Join(v.heard, "\n")
	v.heard = nil
	noToken(v.t, "an answer", text)
	return text
}

// expect says a message and checks the answer: a wire code, or empty for none.
func (v *visitor) expect(code, message string) {
	v.t.Helper()
	got := v.say(message)
	if (code == "") != (got == "") || !strings.Contains(got, `"code":"`+code) && code != "" {
		v.t.Errorf("answer %q, want %q\nto %s", got, code, message)
	}
}

// ended returns why the session is over, and whether it is.
func (v *visitor) ended() (error, bool) {
	select {
	case err := <-v.over:
		return err, true
	default:
		return nil, false
	}
}

// message is a message in the test's dialect, with an id of its own and made now.
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

func TestSenderIsWhoAuthenticated(t *testing.T) {
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
				e := enter(t, wire.Options{Auth: knownTokens(t)})
				v := e.visit(&tt.who)
				for _, from := range tt.good {
					v.expect("", message(from, ""))
				}
				for _, from := range tt.bad {
					v.expect("FORBIDDEN", message(from, ""))
				}
				if got := len(e.received.Received()); got != len(tt.good) {
					t.Errorf("%d messages got through, want %d", got, len(tt.good))
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
		e := enter(t, wire.Options{Auth: expires(time.Minute)})
		byToken, byConn := e.visit(nil), e.visit(&wire.Identity{Name: "crm", Expires: time.Now().Add(time.Minute)})
		byToken.expect("", message("crm", tokenCRM))
		byConn.expect("", message("crm", ""))
		time.Sleep(time.Minute - time.Nanosecond)
		byToken.expect("", message("crm", tokenCRM))
		byConn.expect("", message("crm", ""))
		time.Sleep(time.Nanosecond)
		byToken.expect("UNAUTHORIZED", message("crm", tokenCRM))
		byConn.expect("UNAUTHORIZED", message("crm", ""))
		byToken.expect("", message("crm", tokenEddy)) // a new one
		byConn.expect("", message("crm", tokenEddy))
		byConn.expect("UNAUTHORIZED", message("crm", ""))
		if n := len(e.received.Received()); n != 6 {
			t.Errorf("%d messages got through, want 6", n)
		}
	})
}

// authenticator is a function that authenticates.
type authenticator func(wire.Credentials) (wire.Identity, error)

func (a authenticator) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	return a(c)
}

func TestTwoIdentitiesOnOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Auth: knownTokens(t)})
		v := e.visit(nil)
		v.expect("UNAUTHORIZED", message("crm", ""))
		for range 3 {
			v.expect("", message("crm", tokenCRM))
			v.expect("FORBIDDEN", message("eddy", tokenCRM))
			v.expect("", message("eddy", tokenEddy))
			v.expect("FORBIDDEN", message("crm", tokenEddy))
			v.expect("UNAUTHORIZED", message("crm", tokenWrong))
			v.expect("UNAUTHORIZED", message("eddy", "")) // each has to carry its own
		}
		own := e.visit(&wire.Identity{Name: "jules"})
		own.expect("", message("jules", ""))
		own.expect("", message("crm", tokenCRM))
		own.expect("", message("jules", "")) // the connection's own again
		own.expect("FORBIDDEN", message("crm", ""))
		own.expect("UNAUTHORIZED", message("jules", tokenWrong))
	})
}

func TestUnauthenticatedSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Auth: knownTokens(t), AuthTime: 5 * time.Second})
		silent, wrong, good, own := e.visit(nil), e.visit(nil), e.visit(nil), e.visit(&wire.Identity{Name: "crm"})
		synctest.Wait()
		time.Sleep(5*time.Second - time.Nanosecond)
		wrong.expect("UNAUTHORIZED", message("crm", tokenWrong))
		wrong.expect("UNAUTHORIZED", message("crm", ""))
		good.expect("", message("crm", tokenCRM))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		for name, v := range map[string]*visitor{"silent": silent, "wrong": wrong} {
			if text := v.hear(); !strings.Contains(text, "given up") || !strings.Contains(text, "UNAUTHORIZED") {
				t.Errorf("%s: told %q after 5 s", name, text)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for name, v := range map[string]*visitor{"silent": silent, "wrong": wrong} {
			if err, over := v.ended(); !over || !errors.Is(err, performatives.CodeUnauthorized) {
				t.Errorf("%s: over %v, %v", name, over, err)
			}
		}
		for name, v := range map[string]*visitor{"good": good, "own": own} {
			if err, over := v.ended(); over {
				t.Errorf("%s: it has ended: %v", name, err)
			}
		}
	})
}

func TestUnauthenticatedFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Auth: knownTokens(t), Limits: wire.Limits{Unauthenticated: 1000}})
		long := message("crm", tokenCRM) + strings.Repeat(" ", 1000)
		if got := e.visit(nil).say(long); !strings.Contains(got, "given up") {
			t.Errorf("a long frame of a stranger's: %q", got)
		}
		v := e.visit(nil)
		v.expect("", message("crm", tokenCRM))
		v.expect("", long)
		e.visit(&wire.Identity{Name: "crm"}).expect("", long)
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
		e := enter(t, wire.Options{Auth: counting})
		v := e.visit(nil)
		for range 3 { // seven in a row are borne
			for range 7 {
				v.expect("UNAUTHORIZED", message("crm", tokenWrong))
			}
			v.expect("", message("crm", tokenCRM))
		}
		for range 7 {
			v.expect("UNAUTHORIZED", message("crm", tokenWrong))
		}
		if got := v.say(message("crm", tokenWrong)); !strings.Contains(got, "given up") {
			t.Errorf("the eighth: %q", got)
		}
		asked = 0
		batch := make([]string, 100)
		for i := range batch {
			batch[i] = message("crm", tokenWrong)
		}
		before := len(e.received.Received())
		v = e.visit(nil)
		if got := v.say(append(batch, message("crm", tokenCRM))...); asked != 8 || !strings.Contains(got, "given up") {
			t.Errorf("a batch of guesses: %d were looked at, %q", asked, got)
		}
		if n := len(e.received.Received()); n != before {
			t.Error("what comes after them is let in")
		}
	})
}

// limitOf reads the details of an answer.
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
		e := enter(t, wire.Options{Auth: knownTokens(t), ConnectionRate: wire.Rate{Messages: 3, Window: time.Minute}})
		v, other := e.visit(&wire.Identity{Name: "crm"}), e.visit(&wire.Identity{Name: "crm"})
		for range 3 {
			v.expect("", message("crm", ""))
		}
		if got, want := limitOf(t, v.say(message("crm", ""))), (wire.ErrorDetails{Limit: 3, Window: "1m", RetryAfter: 20}); got != want {
			t.Errorf("told %+v, want %+v", got, want)
		}
		other.expect("", message("crm", "")) // it is of the connection
		time.Sleep(15 * time.Second)
		if got := limitOf(t, v.say(message("crm", ""))); got.RetryAfter != 5 {
			t.Errorf("told to come back in %d s, want 5", got.RetryAfter)
		}
		time.Sleep(5 * time.Second)
		v.expect("", message("crm", ""))
		v.expect("RATE_LIMIT_EXCEEDED", message("crm", ""))
		if n := len(e.received.Received()); n != 5 {
			t.Errorf("%d messages got through, want 5", n)
		}
	})
}

func TestAgentRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Auth: knownTokens(t), AgentRate: wire.Rate{Messages: 4, Window: time.Minute}})
		a, b, eddy := e.visit(&wire.Identity{Name: "crm"}), e.visit(nil), e.visit(&wire.Identity{Name: "eddy"})
		a.expect("", message("crm", ""))
		b.expect("", message("CRM", tokenCRM))
		a.expect("", message("crm/1", ""))
		b.expect("", message("crm/2", tokenCRM))
		for i, v := range []*visitor{a, b, a, b} {
			from := fmt.Sprintf("crm/%d", i+3) // a name that nobody has used
			if got, want := limitOf(t, v.say(message(from, map[bool]string{true: tokenCRM}[v == b]))), (wire.ErrorDetails{Limit: 4, Window: "1m", RetryAfter: 15}); got != want {
				t.Errorf("told %+v, want %+v", got, want)
			}
		}
		eddy.expect("", message("eddy", ""))
		eddy.expect("FORBIDDEN", message("crm", "")) // which costs crm nothing
		time.Sleep(15 * time.Second)
		b.expect("", message("crm", tokenCRM))
		a.expect("RATE_LIMIT_EXCEEDED", message("crm", ""))
	})
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = time.Minute
		e := enter(t, wire.Options{Auth: knownTokens(t), ReplayWindow: window})
		a, b, eddy := e.visit(&wire.Identity{Name: "crm"}), e.visit(&wire.Identity{Name: "crm"}), e.visit(&wire.Identity{Name: "eddy"})
		m := messageOf("1", "crm", "", time.Now())
		a.expect("", m)
		a.expect("", m) // a repetition
		b.expect("UNAUTHORIZED", m)
		b.expect("UNAUTHORIZED", messageOf("1", "CRM", "", time.Now())) // is the same sender
		b.expect("", messageOf("2", "crm", "", time.Now()))
		b.expect("", messageOf("1", "crm", "", time.Now().Add(time.Millisecond))) // numbers from one in each connection
		eddy.expect("", messageOf("1", "eddy", "", time.Now()))
		time.Sleep(window)
		late := messageOf("3", "crm", "", time.Now().Add(window)) // acceptable the longest
		a.expect("", late)
		for range 7 { // across generations
			time.Sleep(window/4 + window/40)
			b.expect("UNAUTHORIZED", late)
		}
	})
}

func TestTimestampWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := enter(t, wire.Options{Auth: knownTokens(t), ReplayWindow: time.Minute})
		v := e.visit(&wire.Identity{Name: "crm"})
		for _, d := range []time.Duration{0, -time.Minute, time.Minute} {
			v.expect("", messageOf("1", "crm", "", time.Now().Add(d)))
		}
		for _, d := range []time.Duration{-time.Minute - 1, time.Minute + 1, -1000 * time.Hour} {
			got := v.say(messageOf("1", "crm", "", time.Now().Add(d)))
			if !strings.Contains(got, "UNAUTHORIZED") || !strings.Contains(got, `"field":"timestamp"`) {
				t.Errorf("%v off: %q", d, got)
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
		e := enter(t, wire.Options{Auth: knownTokens(t), Authorize: authorize})
		v := e.visit(nil)
		v.expect("", message("eddy", tokenEddy))
		got := v.say(message("crm", tokenCRM))
		if !strings.Contains(got, "FORBIDDEN") || strings.Contains(got, "rule") {
			t.Errorf("the answer is %q, want forbidden and not why", got)
		}
		if !strings.Contains(e.log.String(), "no rule permits it") {
			t.Error("the log does not say why")
		}
	})
}

// Whatever an authenticator says, a peer learns only that it was turned away; the log
// learns why.
func TestAuthenticationFailureSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &performatives.Refusal{Code: performatives.CodeUnauthorized}
		var err error
		e := enter(t, wire.Options{Auth: authenticator(func(wire.Credentials) (wire.Identity, error) { return wire.Identity{}, err })})
		for name, tt := range map[string]struct {
			err    error
			answer string
			logged bool
		}{
			"a refusal":            {refusal, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"a refusal, with why":  {fmt.Errorf("secret reason: %w", refusal), `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"any error":            {errors.New("secret reason"), `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
			"a fault of ours":      {fmt.Errorf("secret reason: %w", &performatives.Refusal{Code: performatives.CodeInternal}), `{"code":"INTERNAL_ERROR","message":"the agent failed"}`, true},
			"nothing looked at it": {wire.ErrNoCredentials, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, false},
			"rejected by auth":     {&auth.RejectedError{Method: "jwt", Reason: "secret reason"}, `{"code":"UNAUTHORIZED","message":"authentication failed"}`, true},
		} {
			e.log.Reset()
			err = tt.err
			if got := e.visit(nil).say(message("crm", tokenWrong)); got != tt.answer {
				t.Errorf("%s: %s, want %s", name, got, tt.answer)
			}
			if got := strings.Contains(e.log.String(), "authentication failed"); got != tt.logged {
				t.Errorf("%s: logged %v, want %v: %s", name, got, tt.logged, e.log.String())
			}
			if _, got := e.server.Authenticate(t.Context(), wire.Credentials{Token: tokenWrong}); strings.Contains(got.Error(), "secret") {
				t.Errorf("%s: a transport gets %v", name, got)
			}
		}
	})
}

// A fault of ours does not end the session, however often.
func TestOutageIsNoBadToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		known := knownTokens(t)
		e := enter(t, wire.Options{Auth: authenticator(func(c wire.Credentials) (wire.Identity, error) {
			if down {
				return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeInternal}
			}
			return known.Authenticate(t.Context(), c)
		})})
		v := e.visit(nil)
		for range 20 {
			v.expect("INTERNAL_ERROR", message("crm", tokenCRM))
		}
		down = false
		v.expect("", message("crm", tokenCRM))
	})
}

// Where only certificates count, a token that comes with a message is as if it were not
// there.
func TestTokenThatNobodyLooksAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certificates, err := auth.Certificates(auth.CertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e := enter(t, wire.Options{Auth: certificates})
		e.visit(&wire.Identity{Name: "crm"}).expect("", message("crm", tokenWrong))
		e.visit(nil).expect("UNAUTHORIZED", message("crm", tokenWrong))
		e.visit(&wire.Identity{Name: "crm"}).expect("FORBIDDEN", message("eddy", tokenEddy))
	})
}

func TestCredentialsShowNoToken(t *testing.T) {
	c := wire.Credentials{Token: tokenCRM, Peer: wire.Peer{Addr: "192.0.2.1:5"}}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "c", c)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", c, c, &c, c, c, c), log.String()} {
		noToken(t, "the text", text)
		if !strings.Contains(text, "192.0.2.1:5") {
			t.Errorf("%s does not say whose they are", text)
		}
	}
}
