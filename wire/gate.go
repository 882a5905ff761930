package wire

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/ribosome-agents/ribosome/performatives"
)

// gate holds the credentials and rate limiters of one session. Only the reading goroutine
// uses it.
type gate struct {
	limit         Rate
	connIdentity  *Identity         // identity that the connection itself proved; nil for none
	messages      *rate.Limiter     // nil without a rate limit
	excess        *rate.Limiter     // limits how many messages over the limit are refused without delay
	tokenSum      [sha256.Size]byte // hash of the last accepted token
	tokenIdentity *Identity         // identity of that token; nil for none
	badTokens     int               // consecutive rejected tokens
}

// maxBadTokens is the number of consecutive rejected tokens that ends a session.
const maxBadTokens = 8

func (g *gate) init(o Options, connIdentity *Identity) {
	g.limit, g.connIdentity = o.ConnectionRate, connIdentity
	g.messages, g.excess = newLimiter(o.ConnectionRate), newLimiter(o.ConnectionRate)
}

// newLimiter returns a limiter for r, or nil when r sets no limit.
func newLimiter(r Rate) *rate.Limiter {
	if r.Messages == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(r.Messages)/r.Window.Seconds()), r.Messages)
}

// rate counts one message of the connection against ConnectionRate.
func (g *gate) rate() error { return allow(g.messages, g.limit) }

// allow counts one message. Over the limit, it returns a [*LimitError] with the time until
// the next message is allowed.
func allow(l *rate.Limiter, limit Rate) error {
	if l == nil || l.Allow() {
		return nil
	}
	// The time is computed without a reservation: when two reservations overlap, cancelling
	// the first returns no tokens.
	wait := time.Duration((1 - l.Tokens()) * float64(limit.Window) / float64(limit.Messages))
	return &LimitError{Limit: limit, RetryAfter: max(wait, time.Millisecond)}
}

// maxPause is the longest delay for one message of a peer that exceeds its rate. It is
// bounded because the delay also holds back the peer's pings, and the peer must not consider
// this end dead.
const maxPause = time.Second

// slowDown delays the reader when a peer continues to send after many refusals over its rate.
func (g *gate) slowDown(ctx context.Context) {
	if g.excess == nil || g.excess.Allow() {
		return
	}
	select {
	case <-time.After(min(g.limit.Window/time.Duration(g.limit.Messages), maxPause)):
	case <-ctx.Done(): // the session ends: the next Read fails
	}
}

// authenticate verifies the token, or the connection's identity when the token is empty, and
// records the result.
func (s *Session) authenticate(token string) error {
	_, err := s.resolveIdentity(token)
	return err
}

// resolveIdentity returns the identity of the token or, when the token is empty, of the
// connection.
func (s *Session) resolveIdentity(token string) (*Identity, error) {
	id, err := s.identify(token)
	switch {
	case err != nil:
		s.countBadToken(token, err)
		return nil, err
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return nil, unauthorized("the credentials have expired")
	}
	s.gate.badTokens = 0
	s.setIdentity(id)
	return id, nil
}

// anonymous is the identity used when authentication is off.
var anonymous = &Identity{}

// identify verifies the credentials. It caches the result for the last accepted token.
func (s *Session) identify(token string) (*Identity, error) {
	switch {
	case s.core.opts.Auth == nil || s.initiator:
		return anonymous, nil
	case token == "" && s.gate.connIdentity != nil:
		return s.gate.connIdentity, nil
	case token == "":
		return nil, unauthorized("the message carries no credentials")
	}
	sum := sha256.Sum256([]byte(token))
	if s.gate.tokenIdentity != nil && sum == s.gate.tokenSum {
		return s.gate.tokenIdentity, nil
	}
	id, err := s.core.authenticate(s.ctx, Credentials{Token: token, Peer: s.peer})
	switch {
	case errors.Is(err, ErrNoCredentials) && s.gate.connIdentity != nil: // the authenticator does not check tokens: the token is ignored
		return s.gate.connIdentity, nil
	case errors.Is(err, ErrNoCredentials):
		s.core.logUnchecked(s.peer)
		return nil, unauthorized("")
	case err != nil:
		return nil, err
	}
	s.gate.tokenSum, s.gate.tokenIdentity = sum, &id
	return &id, nil
}

// setIdentity records that the peer has authenticated.
func (s *Session) setIdentity(id *Identity) {
	known := s.identity.Load()
	if known == id {
		return
	}
	s.identity.Store(id)
	if known == nil {
		s.conn.SetLimit(s.core.opts.Limits.Frame)
		s.step(event{kind: authenticated})
		s.logger().Debug("peer authenticated", "as", string(id.Name), "method", id.Method)
	}
}

// countBadToken counts rejected tokens and ends the session after maxBadTokens of them.
// Failures of this end, such as an unreachable key server, are not counted.
func (s *Session) countBadToken(token string, err error) {
	if token == "" || !errors.Is(err, performatives.CodeUnauthorized) {
		return
	}
	if s.gate.badTokens++; s.gate.badTokens >= maxBadTokens {
		r := unauthorized("too many rejected credentials")
		s.step(event{kind: violation, err: r, refusal: r})
	}
}

// admit returns an error when a message must not reach the handler: invalid credentials, a
// sender that the identity does not cover, a rate limit, a replay, or a denial by
// Options.Authorize.
func (s *Session) admit(in *Inbound) error {
	if s.initiator { // this end chose the peer
		return nil
	}
	if public := s.core.opts.Public; public != nil && in.Token == "" && s.gate.connIdentity == nil && public(in.Message) {
		return nil
	}
	id, err := s.resolveIdentity(in.Token)
	if err != nil {
		return err
	}
	if s.SenderIsLabel(in.Message) {
		in.Message = id.speaks(in.Message)
	}
	m := in.Message
	if !id.MaySpeakAs(m.Sender()) {
		return &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID(), Field: "sender", Text: "the peer has not authenticated as the sender"}
	}
	if err := s.core.agents.allow(id.account(m.Sender())); err != nil {
		return err
	}
	if err := s.core.replays.check(s.id, *id, *in); err != nil {
		return err
	}
	if err := s.core.contents.check(s.id, *id, s.core.owns(s, m), *in); err != nil {
		return err
	}
	if authorize := s.core.opts.Authorize; authorize != nil && !s.core.hosts(m) {
		if err := authorize(*id, m); err != nil {
			s.logger().Debug("message forbidden", "agent", string(m.Sender()), "receiver", string(m.Receiver()), "err", err)
			return &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID()}
		}
	}
	m.Authenticate(id.principal(m.Sender()))
	return nil
}

func (c *core) hosts(m *performatives.Message) bool {
	h, ok := c.opts.Handler.(HostHandler)
	return ok && h.Hosts(m)
}

func (c *core) owns(s *Session, m *performatives.Message) bool {
	h, ok := c.opts.Handler.(HostHandler)
	return ok && h.Owns(s, m)
}

// Permits reports whether Options.Authorize permits the peer to send m to that receiver. Without an
// authorizer, and for a peer that this end chose, it does.
func (s *Session) Permits(m *performatives.Message, to performatives.AgentID) bool {
	if !s.Restricted() {
		return true
	}
	id, _ := s.Identity()
	m, err := m.With(func(e *performatives.Envelope) { e.Receiver = to })
	return err == nil && s.core.opts.Authorize(id, m) == nil
}

// Restricted reports whether Options.Authorize decides what the peer may send. If it does not, the
// peer may call every agent.
func (s *Session) Restricted() bool { return s.core.opts.Authorize != nil && !s.initiator }

// MayCall reports whether the peer may begin something with an agent: whether Options.Authorize
// permits a message of any act that expects a reply. The sender is an agent of the peer.
func (s *Session) MayCall(sender, to performatives.AgentID) bool {
	if !s.Restricted() {
		return true
	}
	stamp := s.core.opts.Stamper.Stamp()
	for act := range performatives.Performatives() {
		if !act.ExpectsReply() || act == performatives.ActCancel {
			continue
		}
		call, err := performatives.New(performatives.Envelope{
			ID: stamp.ID, Timestamp: stamp.Time, Sender: sender, Receiver: to, Performative: act, Payload: performatives.Raw("{}"),
		})
		if err == nil && s.Permits(call, to) {
			return true
		}
	}
	return false
}

func unauthorized(text string) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: text}
}

// logUnchecked logs a token that no authenticator checks, as one that an authenticator rejects.
func (c *core) logUnchecked(p Peer) {
	c.opts.Logger.Info("authentication failed", "peer", p.Addr, "err", "no authenticator checks a token of this form")
}

// authenticate calls the authenticator. It logs the complete error and returns only the
// refusal in it, because the rest may hold internal details.
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
	if r.Code != performatives.CodeUnauthorized { // a failure of this end
		log = c.opts.Logger.Warn
	}
	log("authentication failed", "peer", cred.Peer.Addr, "err", err)
	return Identity{}, r
}
