package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/ribosome-agents/ribosome/performatives"
)

// gate is what a session knows about what it may let through. It belongs to the reader.
type gate struct {
	limit    Rate
	proved   *Identity     // by the connection itself; nil for none
	messages *rate.Limiter // nil without a limit
	patience *rate.Limiter // for what is over the limit
	token    [sha256.Size]byte
	bearer   *Identity // of token; nil for none
	bad      int       // tokens that were not accepted, in a row
}

// maxBadTokens is how many bad tokens in a row a session may show.
const maxBadTokens = 8

func (g *gate) init(o Options, proved *Identity) {
	g.limit, g.proved = o.ConnectionRate, proved
	g.messages, g.patience = newLimiter(o.ConnectionRate), newLimiter(o.ConnectionRate)
}

// newLimiter returns the limiter of a rate, or nil for none.
func newLimiter(r Rate) *rate.Limiter {
	if r.Messages == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(r.Messages)/r.Window.Seconds()), r.Messages)
}

// rate counts a message of the connection.
func (g *gate) rate() error { return allow(g.messages, g.limit) }

// allow counts a message, or says when there is room for the next.
func allow(l *rate.Limiter, limit Rate) error {
	if l == nil || l.Allow() {
		return nil
	}
	// Not by a reservation: of two that overlap, the first to be cancelled gives nothing back.
	wait := time.Duration((1 - l.Tokens()) * float64(limit.Window) / float64(limit.Messages))
	return &LimitError{Limit: limit, RetryAfter: max(wait, time.Millisecond)}
}

// maxPause is the longest wait for one message of a peer that is over its rate: its pings
// wait as well, and it must not take this end for dead.
const maxPause = time.Second

// slowDown waits, when a peer goes on although it has been told often enough that it is
// over its rate.
func (g *gate) slowDown(ctx context.Context) {
	if g.patience == nil || g.patience.Allow() {
		return
	}
	select {
	case <-time.After(min(g.limit.Window/time.Duration(g.limit.Messages), maxPause)):
	case <-ctx.Done(): // the session ends: the reader will see
	}
}

// authenticate finds out in whose name the peer speaks, and remembers that it has
// authenticated.
func (s *Session) authenticate(token string) error {
	_, err := s.who(token)
	return err
}

// who returns the identity of the token, or, without one, of the connection.
func (s *Session) who(token string) (*Identity, error) {
	id, err := s.identify(token)
	switch {
	case err != nil:
		s.suspect(token, err)
		return nil, err
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return nil, unauthorized("the credentials have expired")
	}
	s.gate.bad = 0
	s.trust(id)
	return id, nil
}

// anyone is who a peer is when nobody asks.
var anyone = &Identity{}

// identify looks at the credentials. A token that was the last one's is not verified
// again before it expires.
func (s *Session) identify(token string) (*Identity, error) {
	switch {
	case s.core.opts.Auth == nil || s.initiator:
		return anyone, nil
	case token == "" && s.gate.proved != nil:
		return s.gate.proved, nil
	case token == "":
		return nil, unauthorized("the message carries no credentials")
	}
	sum := sha256.Sum256([]byte(token))
	if s.gate.bearer != nil && sum == s.gate.token {
		return s.gate.bearer, nil
	}
	id, err := s.core.authenticate(s.ctx, Credentials{Token: token, Peer: s.peer})
	switch {
	case errors.Is(err, ErrNoCredentials) && s.gate.proved != nil: // as if it were not there
		return s.gate.proved, nil
	case errors.Is(err, ErrNoCredentials):
		return nil, unauthorized("")
	case err != nil:
		return nil, err
	}
	s.gate.token, s.gate.bearer = sum, &id
	return &id, nil
}

// trust notes that the peer has authenticated.
func (s *Session) trust(id *Identity) {
	known := s.identity.Load()
	if known == id {
		return
	}
	s.identity.Store(id)
	if known == nil {
		s.conn.SetLimit(s.core.opts.Limits.Frame)
		s.step(event{what: proved})
		s.logger().Debug("peer authenticated", "as", string(id.Name), "method", id.Method)
	}
}

// suspect counts bad tokens; a peer that tries many is sent away. That the fault is ours
// does not count.
func (s *Session) suspect(token string, err error) {
	if token == "" || !errors.Is(err, performatives.CodeUnauthorized) {
		return
	}
	if s.gate.bad++; s.gate.bad >= maxBadTokens {
		r := unauthorized("too many credentials that are not accepted")
		s.step(event{what: broke, err: r, tell: r})
	}
}

// admit says whether a message may pass.
func (s *Session) admit(in Inbound) error {
	if s.initiator { // this end chose whom to talk to
		return nil
	}
	id, err := s.who(in.Token)
	if err != nil {
		return err
	}
	m := in.Message
	if !id.MaySpeakAs(m.Sender()) {
		return &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID(), Field: "sender", Text: "the sender is not who has authenticated"}
	}
	if err := s.core.agents.allow(id.account(m.Sender())); err != nil {
		return err
	}
	if err := s.core.replays.check(s.id, *id, in); err != nil {
		return err
	}
	if authorize := s.core.opts.Authorize; authorize != nil {
		if err := authorize(*id, m); err != nil {
			s.logger().Debug("message forbidden", "agent", string(m.Sender()), "receiver", string(m.Receiver()), "err", err)
			return &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID()}
		}
	}
	return nil
}

func unauthorized(text string) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: text}
}

// authenticate asks the authenticator, whose errors may tell more than a peer should
// know: the log gets all, and the peer only the refusal in it.
func (c *core) authenticate(ctx context.Context, cred Credentials) (Identity, error) {
	id, err := c.opts.Auth.Authenticate(ctx, cred)
	var r *performatives.Refusal
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, ErrNoCredentials):
		return Identity{}, ErrNoCredentials
	case !errors.As(err, &r):
		r = unauthorized("")
	}
	log := c.opts.Logger.Info
	if r.Code != performatives.CodeUnauthorized { // the fault is ours
		log = c.opts.Logger.Warn
	}
	log("authentication failed", "peer", cred.Peer.Addr, "err", err)
	return Identity{}, r
}
