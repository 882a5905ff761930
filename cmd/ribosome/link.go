package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// link is a node of this process with one agent, and its connection to the node at --addr.
type link struct {
	at       address
	operator *operator        // asked for at first; nil if --addr is where agents connect
	tls      *tls.Config      // nil without TLS
	token    func() string    // nil without a token
	issuer   auth.TokenSource // the issuer of the token; nil for a token from a flag or a file
	name     performatives.AgentID
	nameless bool     // name is random
	verbose  *printer // where the name is printed; nil for nowhere
	task     bool     // the message is a task, which the node itself gives to one of its agents
	limits   wire.Limits

	sealer actors.Sealer               // of the sender; nil without --keys
	learns func(context.Context) error // asks the agents of --trust for their keys; nil without --keys

	node    *runtime.Node
	uplink  *runtime.Uplink
	session atomic.Pointer[wire.Session] // the latest; nil before the first
	worked  atomic.Bool                  // the node has sent a message
	cutOff  bool                         // the connection ended before leave
}

// plan makes a link of the flags, without any connection. With --verbose, the link prints its name
// to stderr.
func (f *clientFlags) plan(stderr io.Writer) (l *link, err error) {
	l = &link{limits: wire.Limits{Frame: int(f.MaxFrame)}}
	if f.byHTTP() {
		if l.operator, err = (&operatorFlags{Addr: f.Addr, credentialFlags: f.credentialFlags}).plan(); err != nil {
			return nil, err
		}
		l.at = l.operator.at
	} else if l.at, err = parseAddress("--addr", f.Addr); err != nil {
		return nil, err
	}
	failed := seldom(func(err error) {
		newPrinter(stderr).line("ribosome: the credentials were not renewed: " + oneLine(reason(err)))
	})
	if l.tls, err = f.config(l.at, failed); err != nil {
		return nil, err
	}
	if l.token, err = f.bearer(failed); err != nil {
		return nil, err
	}
	if l.issuer, err = f.OAuth.source(); err != nil {
		return nil, err
	}
	if l.issuer != nil {
		if l.token != nil {
			return nil, usagef("there is a token, and --oauth-url gets another; leave one")
		}
		l.token = auth.Func(context.Background(), l.issuer, failed)
	}
	if f.Verbose {
		l.verbose = newPrinter(stderr)
	}
	l.nameless = f.As == ""
	if l.name, err = f.speaker(); err != nil {
		return nil, err
	}
	return l, f.seal(l)
}

// open starts the node under that name, without connecting it.
func (l *link) open(name performatives.AgentID) (err error) {
	o := runtime.Options{Name: string(name)}
	if l.sealer != nil {
		o.Sealers = map[performatives.AgentID]actors.Sealer{l.name: l.sealer}
	}
	if l.node, err = runtime.New(o); err != nil {
		return usagef("--as %.40q: %v", l.name, err)
	}
	if l.uplink, err = l.node.Uplink(runtime.UplinkOptions{Dial: l.dial}); err != nil {
		l.leave()
	}
	return err
}

// join starts the node under the name of the sender, and connects it.
func (l *link) join(ctx context.Context) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.open(l.name); err != nil {
		return err
	}
	err := l.uplink.Connect(ctx)
	if err == nil && l.learns != nil {
		err = l.learns(ctx)
	}
	if err != nil {
		l.leave()
	}
	return err
}

// during joins the node, calls do, which may take that long with the joining, and leaves the node.
func (l *link) during(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.join(ctx); err != nil {
		return err
	}
	defer l.leave()
	return do(ctx)
}

// Self returns the sender of the messages.
func (l *link) Self() actors.Self { return l.node.Self() }

// stopTime is the time for the node to stop. After it, the process ends anyway.
const stopTime = 2 * time.Second

// leave stops the node, and then the connection, so that the last messages are sent.
func (l *link) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	l.ending(ctx, func() {
		_ = l.node.Stop(ctx)
		if l.uplink != nil {
			_ = l.uplink.Stop(ctx)
		}
	})
}

// ending calls stop to end the connection, waits for its end, and records whether the peer
// or an error had ended it before.
func (l *link) ending(ctx context.Context, stop func()) {
	l.cutOff = l.isCut()
	stop()
	s := l.session.Load()
	if s == nil {
		return
	}
	_ = s.Stop(ctx)                                           // stop has begun to end it
	l.cutOff = l.cutOff || s.Err() != nil && ctx.Err() == nil // else the end of ctx has cut it off
}

// introductionTime is the time limit for connecting and introducing the agent.
const introductionTime = 10 * time.Second

// stay connects by calls of connect until ctx ends, and prints each change. When connected, it
// calls begin, if it is not nil. It returns the error of the first attempt, the refusal of the
// agent by a node, or the takeover of the agent by another connection.
func (l *link) stay(ctx context.Context, connect func(context.Context) error, begin func() error, say *printer) error {
	backoff := actors.Backoff{Jitter: 0.5}
	for attempt, first := 1, true; ; attempt++ {
		err := connect(ctx)
		if err == nil {
			say.line(fmt.Sprintf("connected to %s as %s", l.at.url, l.name))
			if begin != nil {
				err = begin()
			}
		}
		if err == nil {
			first = false
			if l.lasts(ctx) {
				attempt = 0
			}
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is no error
		}
		why := l.explain(err, string(systemAgent))
		if why == nil {
			why = &problem{Text: l.cut()}
		}
		if err != nil && (first || isAuth(why.Code)) {
			return why.failure()
		}
		if err == nil && l.isReplaced() {
			return failf("another connection to %s speaks for %s now; end that, or use another name with --as", l.at.url, l.name)
		}
		wait := backoff.Delay(max(attempt, 1), rand.Float64)
		say.line(fmt.Sprintf("not connected, next attempt in %v: %s", wait.Round(time.Millisecond), why.Text))
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// reach connects.
func (l *link) reach(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	return silent(ctx, patient, l.uplink.Connect(patient))
}

// introduce connects, and sends the capabilities of the agent to the node.
func (l *link) introduce(ctx context.Context, self actors.Self) error {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	if err := l.uplink.Connect(patient); err != nil {
		return silent(ctx, patient, err)
	}
	_, err := discovery.Handshake(patient, self, systemAgent)
	if err != nil {
		l.ending(patient, func() {}) // the next attempt opens another connection
	}
	return silent(ctx, patient, err)
}

// steady is the duration of a connection after which the backoff starts again. Without it,
// two agents of one name would replace each other in quick succession.
const steady = time.Minute

// lasts waits for the end of the connection or of ctx. It reports whether the connection
// was steady.
func (l *link) lasts(ctx context.Context) bool {
	since := time.Now()
	select {
	case <-l.session.Load().Done():
	case <-ctx.Done():
	}
	return time.Since(since) >= steady
}

// silent returns err, or errSilent if patient has ended and ctx has not.
func silent(ctx, patient context.Context, err error) error {
	if err != nil && ctx.Err() == nil && patient.Err() != nil {
		return errSilent
	}
	return err
}

var errSilent = errors.New("no answer; check --addr, with its scheme, and whether a node listens there")

// pause waits, and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// subjectOf returns the subject of a JSON Web Token (RFC 7519 §4.1.2) if an agent can have that
// name, and otherwise nothing. It does not verify the token: the node does.
func subjectOf(token string) performatives.AgentID {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxSecret {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if performatives.Unmarshal(text, &claims) != nil || !canSpeak(claims.Subject) || isNamespace(claims.Subject) {
		return ""
	}
	return performatives.AgentID(claims.Subject)
}

// canSpeak reports whether name has the form of a name for an agent.
func canSpeak(name string) bool {
	return name != "" && len(name) <= performatives.MaxIDLength && utf8.ValidString(name) &&
		strings.TrimSpace(name) == name && !strings.ContainsFunc(name, unicode.IsControl)
}

// isNamespace reports whether name is a namespace, which stands for all agents of a node (addenda
// §5, Namespaces).
func isNamespace(name string) bool {
	id := performatives.AgentID(name)
	return id.Is(systemAgent) || id.Is("default")
}

// settle chooses the name of the sender if --as has none: the subject of the token, or else a
// random name. It fails if the issuer gives no token.
func (l *link) settle(ctx context.Context) error {
	why := "the name of --as"
	if l.operator != nil {
		if err := firstToken(ctx, l.issuer); err != nil {
			return err
		}
		l.operator.token = l.token
		name, err := l.find(ctx)
		if err != nil {
			return err
		}
		if l.nameless && name != "" {
			l.name, l.nameless, why = name, false, "the name of the token"
		}
	}
	if l.nameless {
		why = "a random name"
		if err := firstToken(ctx, l.issuer); err != nil {
			return err
		}
		if l.token != nil {
			if subject := subjectOf(l.token()); subject != "" {
				l.name, l.nameless, why = subject, false, "the subject of the token"
			}
		}
	}
	if l.verbose != nil {
		l.verbose.line("speaking to " + l.at.url + " as " + string(l.name) + ", " + why)
	}
	return nil
}
