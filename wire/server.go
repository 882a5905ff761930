package wire

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// core is the state that the sessions of one server, or of one client, share.
type core struct {
	opts     Options
	agents   *rates
	accepts  *rates
	replays  *replays
	contents *requestContents
	sessions atomic.Uint64 // number of sessions created
	totals   totals
}

// totals counts the messages of all sessions.
type totals struct{ received, refused, sent, undelivered atomic.Uint64 }

// Counts are figures of a server since its creation.
type Counts struct {
	Open        int    // sessions that are open now
	Sessions    uint64 // sessions created
	Received    uint64 // messages that the handler accepted
	Refused     uint64 // items from peers that were refused
	Sent        uint64 // messages that were written
	Undelivered uint64 // messages that were returned to the handler
}

func newCore(o Options) (*core, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &core{opts: o, agents: newRates(o.AgentRate), accepts: newRates(o.AcceptRate), replays: newReplays(o.ReplayWindow, maxReplays), contents: newRequestContents()}, nil
}

// close drops the records of received messages, and stops the timers of these records.
func (c *core) close() {
	c.replays.known.Close()
	c.contents.known.Close()
}

// dialectOf returns the dialect for a connection with the given frame, and whether that is certain:
// the connection fixes its dialect, or the dialect recognizes the frame. Otherwise it is the first
// of the options, in which an unreadable frame is refused. It is nil when there is none.
func (c *core) dialectOf(conn Conn, frame []byte, initiator bool) (d Dialect, certain bool) {
	if s, ok := conn.(DialectConn); ok {
		return s.Dialect(), true
	}
	if len(c.opts.Dialects) == 0 {
		return nil, false
	}
	for _, d := range c.opts.Dialects {
		if !initiator && d.Recognizes(frame) {
			return d, true
		}
	}
	return c.opts.Dialects[0], initiator
}

// Server runs the sessions of accepted connections, of any number of listeners, with the same
// options. Its methods are safe for concurrent use.
type Server struct {
	core *core

	mu       sync.Mutex
	open     map[*Session]struct{}
	hosts    hosts // of the open sessions
	stopping bool
	halted   chan struct{} // closed when stopping is set
	running  sync.WaitGroup
}

// NewServer returns a server without sessions. The error names the invalid option.
func NewServer(o Options) (*Server, error) {
	if o.Auth == nil && !o.Anonymous {
		return nil, errors.New("wire: Options.Auth is nil: set Anonymous to accept peers without authentication")
	}
	if o.Auth != nil && o.Anonymous {
		return nil, errors.New("wire: Options.Anonymous and Options.Auth are both set: set one of them")
	}
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	return &Server{core: c, open: make(map[*Session]struct{}), hosts: make(hosts), halted: make(chan struct{})}, nil
}

// Limits returns the limits of the server's sessions with defaults. Transports use it.
func (s *Server) Limits() Limits { return s.core.opts.Limits }

// Options returns the options of the server with defaults. Transports use it.
func (s *Server) Options() Options { return s.core.opts }

// Admit checks, before anything is read, whether the server accepts another connection of p,
// and counts it against AcceptRate. It returns [ErrTooMany], [ErrTooManyOfHost], [ErrClosed],
// or a [*LimitError].
func (s *Server) Admit(p Peer) error {
	host := hostOf(p.Addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.roomLocked(host); err != nil {
		return err
	}
	return s.core.accepts.count(host)
}

// roomLocked returns an error when host may not have another session.
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

// Authenticate verifies the credentials that a peer presents when it connects. On an
// anonymous server it returns nil and no error. [ErrNoCredentials] means that the peer
// presented none: its messages may still carry some. Any other error is a
// [*performatives.Refusal] whose code and text may be sent to the peer.
func (s *Server) Authenticate(ctx context.Context, c Credentials) (*Identity, error) {
	if s.core.opts.Auth == nil {
		return nil, nil //nolint:nilnil // an anonymous server has no identities
	}
	id, err := s.core.authenticate(ctx, c)
	if errors.Is(err, ErrNoCredentials) && c.Token != "" {
		s.core.logUnchecked(c.Peer)
	}
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// Serve runs a session on conn, blocks until it ends, and returns why it ended. Nil means in
// order. id is the identity that the connection proved. A nil id means that the messages of
// the peer must carry credentials, unless the server is anonymous. Serve closes conn.
func (s *Server) Serve(conn Conn, id *Identity) error {
	session, err := s.begin(conn, id)
	if err != nil {
		return err
	}
	s.run(session)
	return session.err
}

// Start is [Server.Serve], but returns when the session has begun. [Server.Stop] joins the session.
// When Start fails, it has closed conn.
func (s *Server) Start(conn Conn, id *Identity) error {
	session, err := s.begin(conn, id)
	if err != nil {
		return err
	}
	go s.run(session)
	return nil
}

// begin returns a new session of the server, which must run, because Stop waits for its end. After
// an error it has closed conn.
func (s *Server) begin(conn Conn, id *Identity) (*Session, error) {
	session := newSession(s.core, conn, id, false)
	if c, ok := conn.(DialectConn); ok { // messages can be written before the peer's first frame
		l, err := session.open(c.Dialect())
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		session.decide(l)
	}
	if err := s.add(session); err != nil {
		_ = conn.Write([]Frame{{Kind: KindError, Err: AsRefusal(err)}, {Kind: KindClose}}) // best effort
		_ = conn.Close()
		return nil, err
	}
	return session, nil
}

func (s *Server) run(session *Session) {
	defer s.remove(session)
	session.run()
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

// Sessions returns the open sessions.
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

// Stopping returns a channel that is closed when Stop is called for the first time.
// Transports use it to tell a load balancer.
func (s *Server) Stopping() <-chan struct{} { return s.halted }

// Stop refuses new sessions, closes the open ones in order, and returns when all have ended.
// When ctx ends first, Stop ends the sessions immediately and returns the cause. Stop is
// idempotent. The handler must not call it, because Stop waits for the handler.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		close(s.halted)
	}
	s.mu.Unlock()
	s.stepAll(event{kind: stopRequested})
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		s.core.close()
		return nil
	case <-ctx.Done():
	}
	aborted := s.stepAll(event{kind: connectionLost, err: ErrClosed})
	<-ended
	s.core.close()
	if aborted == 0 { // every session had ended before ctx was checked
		return nil
	}
	return context.Cause(ctx)
}

// stepAll applies an event to every session and returns their number.
func (s *Server) stepAll(e event) int {
	sessions := s.Sessions()
	for _, session := range sessions {
		session.step(e)
	}
	return len(sessions)
}

// Connect starts a session on a connection that this end opened. The dialect is that of the
// connection, or else the first of o.Dialects. The caller must stop the session. When Connect
// fails, it closes conn.
func Connect(conn Conn, o Options) (*Session, error) {
	s, err := connect(conn, o)
	if err != nil {
		_ = conn.Close() // its error does not matter: conn is unused
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
	d, _ := c.dialectOf(conn, nil, true)
	if d == nil {
		return nil, errors.New("wire: Options.Dialects is empty")
	}
	s := newSession(c, conn, nil, true)
	l, err := s.open(d)
	if err == nil {
		s.decide(l)
	}
	return s, err
}
