package wire

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// core is what the sessions of one server, or of one client, share.
type core struct {
	opts     Options
	agents   *rates
	accepts  *rates
	replays  *replays
	sessions atomic.Uint64 // so far
	totals   totals
}

// totals count the messages of all sessions.
type totals struct{ received, refused, sent, undelivered atomic.Uint64 }

// Counts are totals since a server was made.
type Counts struct {
	Open        int    // sessions under way
	Sessions    uint64 // so far
	Received    uint64 // messages that were handed to the handler, and that it took
	Refused     uint64 // what peers sent and was not served
	Sent        uint64 // messages that were written
	Undelivered uint64 // messages that were given back to the handler
}

func newCore(o Options) (*core, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &core{opts: o, agents: newRates(o.AgentRate), accepts: newRates(o.AcceptRate), replays: newReplays(o.ReplayWindow)}, nil
}

// dialectOf returns the language of a connection with that first frame, or nil.
func (c *core) dialectOf(conn Conn, first []byte, initiator bool) Dialect {
	if s, ok := conn.(Speaking); ok {
		return s.Dialect()
	}
	if len(c.opts.Dialects) == 0 {
		return nil
	}
	for _, d := range c.opts.Dialects {
		if !initiator && d.Recognizes(first) {
			return d
		}
	}
	return c.opts.Dialects[0]
}

// Server runs the sessions that peers open, of any number of listeners, with the same
// rules for all.
type Server struct {
	core *core

	mu       sync.Mutex
	open     map[*Session]struct{}
	hosts    hosts // of the open sessions
	stopping bool
	running  sync.WaitGroup
}

// NewServer returns a server without sessions. The error names the option that is wrong.
func NewServer(o Options) (*Server, error) {
	if o.Auth == nil && !o.Anonymous {
		return nil, errors.New("wire: Options.Auth is nil: set Anonymous to let everyone in")
	}
	if o.Auth != nil && o.Anonymous {
		return nil, errors.New("wire: Options.Anonymous is set, and so is Auth: want one")
	}
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	return &Server{core: c, open: make(map[*Session]struct{}), hosts: make(hosts)}, nil
}

// Limits returns the limits of the server's sessions, for its transports.
func (s *Server) Limits() Limits { return s.core.opts.Limits }

// Options returns what the server was made of, with the defaults, for its transports.
func (s *Server) Options() Options { return s.core.opts }

// Admit says whether one more connection of that peer is welcome, before anything is
// read from it: ErrTooMany, ErrTooManyOfHost, ErrClosed, or a [*LimitError].
func (s *Server) Admit(p Peer) error {
	host := hostOf(p.Addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.roomLocked(host); err != nil {
		return err
	}
	return s.core.accepts.count(host)
}

// roomLocked says whether that host may have one more session.
func (s *Server) roomLocked(host string) error {
	switch o := &s.core.opts; {
	case s.stopping:
		return ErrClosed
	case len(s.open) >= o.MaxConnections:
		return ErrTooMany
	case s.hosts[host] >= o.perHost(host):
		return ErrTooManyOfHost
	}
	return nil
}

// Authenticate finds out who a peer is by what it shows as it connects. It returns nil
// and no error when the server is anonymous. ErrNoCredentials means that it shows
// nothing: it may still authenticate by its messages. Any other error is a
// [*performatives.Refusal] that may be told to it.
func (s *Server) Authenticate(ctx context.Context, c Credentials) (*Identity, error) {
	if s.core.opts.Auth == nil {
		return nil, nil //nolint:nilnil // nobody has to be anyone
	}
	id, err := s.core.authenticate(ctx, c)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// Serve runs a session on conn until it ends, and returns why. id is who the connection
// has proved to be; nil means that its messages have to. Serve closes conn.
func (s *Server) Serve(conn Conn, id *Identity) error {
	session := newSession(s.core, conn, id, false)
	if c, ok := conn.(Speaking); ok { // the peer need not say the first word
		if err := session.speak(c.Dialect()); err != nil {
			_ = conn.Close()
			return err
		}
	}
	if err := s.add(session); err != nil { // what is added has to run, since Stop waits for its end
		_ = conn.Write([]Frame{{Kind: KindError, Err: AsRefusal(err)}, {Kind: KindClose}}) // as a courtesy
		_ = conn.Close()
		return err
	}
	defer s.remove(session)
	session.run()
	return session.err
}

func (s *Server) add(session *Session) error {
	host := hostOf(session.peer.Addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.roomLocked(host); err != nil {
		return err
	}
	s.open[session] = struct{}{}
	s.hosts.add(host)
	s.running.Add(1)
	return nil
}

func (s *Server) remove(session *Session) {
	host := hostOf(session.peer.Addr)
	s.mu.Lock()
	delete(s.open, session)
	s.hosts.remove(host)
	s.mu.Unlock()
	s.running.Done()
}

// Sessions returns the sessions under way.
func (s *Server) Sessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	sessions := make([]*Session, 0, len(s.open))
	for session := range s.open {
		sessions = append(sessions, session)
	}
	return sessions
}

// Counts returns the current figures.
func (s *Server) Counts() Counts {
	t := &s.core.totals
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{
		Open: len(s.open), Sessions: s.core.sessions.Load(), Received: t.received.Load(), Refused: t.refused.Load(),
		Sent: t.sent.Load(), Undelivered: t.undelivered.Load(),
	}
}

// Stop takes on no session more, closes each in order, and returns when none is left.
// When ctx ends first, it ends them at once and returns the cause. Stopping again is
// harmless. The handler must not call it, since it waits for the handler.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.each(event{what: stopping})
	over := make(chan struct{})
	go func() {
		s.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	cut := s.each(event{what: lost, err: ErrClosed})
	<-over
	if cut == 0 { // ctx had ended, and there was nothing to end
		return nil
	}
	return context.Cause(ctx)
}

// each has something happen to all sessions, and returns their number.
func (s *Server) each(e event) int {
	sessions := s.Sessions()
	for _, session := range sessions {
		session.step(e)
	}
	return len(sessions)
}

// Connect begins a session on a connection that this end has opened. It speaks the
// connection's dialect, or else the first of o.Dialects. Its owner must stop it; when
// Connect fails, conn has been closed.
func Connect(conn Conn, o Options) (*Session, error) {
	s, err := connect(conn, o)
	if err != nil {
		_ = conn.Close() // nobody uses it
		return nil, err
	}
	go s.run()
	return s, nil
}

func connect(conn Conn, o Options) (*Session, error) {
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	d := c.dialectOf(conn, nil, true)
	if d == nil {
		return nil, errors.New("wire: Options.Dialects is empty")
	}
	s := newSession(c, conn, nil, true)
	err = s.speak(d)
	return s, err
}
