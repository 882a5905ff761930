package wire_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// The handler learns from a session what its peer may call, and keeps a value there.
func TestRightsOfASession(t *testing.T) {
	only := func(act performatives.Performative) func(wire.Identity, *performatives.Message) error {
		return func(id wire.Identity, m *performatives.Message) error {
			if id.Name == "crm" && m.Receiver() == "b" && (m.Performative() == performatives.ActInform || m.Performative() == act) {
				return nil
			}
			return errors.New("not allowed")
		}
	}
	for name, test := range map[string]struct {
		authorize             func(wire.Identity, *performatives.Message) error
		restricted            bool
		callB, callC, permitC bool
	}{
		"everything":   {nil, false, true, true, true},
		"a request":    {only(performatives.ActRequest), true, true, false, false},
		"an end":       {only(performatives.ActCancel), true, false, false, false},
		"only to tell": {only(performatives.ActInform), true, false, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			r := &wiretest.Recorder{Answer: func(s *wire.Session, m *performatives.Message) error {
				if asked++; s.Restricted() != test.restricted || !s.Permits(m, "b") || s.Permits(m, "c") != test.permitC {
					t.Errorf("%s: restricted: %v, permits b: %v, and c: %v", name, s.Restricted(), s.Permits(m, "b"), s.Permits(m, "c"))
				}
				if s.MayCall(m.Sender(), "b") != test.callB || s.MayCall(m.Sender(), "c") != test.callC {
					t.Errorf("%s: may call b: %v, and c: %v", name, s.MayCall(m.Sender(), "b"), s.MayCall(m.Sender(), "c"))
				}
				if m.Principal() != "crm" {
					t.Errorf("%s: the principal is %q", name, m.Principal())
				}
				if before := s.Value(); before != nil || s.Dialect() != (wiretest.Dialect{}).Name() {
					t.Errorf("%s: the value is %v in %q", name, before, s.Dialect())
				}
				if s.SetValue("kept"); s.Value() != "kept" {
					t.Errorf("%s: the value is %v", name, s.Value())
				}
				return nil
			}}
			s, err := wire.NewServer(wire.Options{Handler: r, Dialects: []wire.Dialect{wiretest.Dialect{}}, Auth: knownTokens(t), Authorize: test.authorize})
			if err != nil {
				t.Fatal(err)
			}
			near, far := wiretest.Pipe()
			go func() { _ = s.Serve(far, &wire.Identity{Name: "crm", Agents: []performatives.AgentID{"a"}}) }()
			peer{near, t}.send(hello)
			synctest.Wait()
			_ = near.Close()
			if err := s.Stop(t.Context()); err != nil || asked != 1 {
				t.Errorf("%s: %v, after %d messages", name, err, asked)
			}
		})
	}
}

// limitedConn records the bounds of its frames.
type limitedConn struct {
	wire.Conn
	mu     sync.Mutex
	limits []int
}

func (c *limitedConn) SetLimit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = append(c.limits, n)
	c.Conn.SetLimit(n)
}

// A frame may be long once the peer has authenticated.
func TestLimitsOfFrames(t *testing.T) {
	limits := wire.Limits{Frame: 5000, Unauthenticated: 600}
	for name, test := range map[string]struct {
		auth bool
		id   *wire.Identity
		want []int
	}{
		"anonymous":         {false, nil, []int{5000}},
		"not authenticated": {true, nil, []int{600}},
		"by certificate":    {true, &wire.Identity{Name: "crm"}, []int{5000}},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := wire.Options{Handler: &wiretest.Recorder{}, Dialects: []wire.Dialect{wiretest.Dialect{}}, Limits: limits, Anonymous: !test.auth}
			if test.auth {
				o.Auth = knownTokens(t)
			}
			s, err := wire.NewServer(o)
			if err != nil {
				t.Fatal(err)
			}
			near, far := wiretest.Pipe()
			conn := &limitedConn{Conn: far}
			go func() { _ = s.Serve(conn, test.id) }()
			synctest.Wait()
			conn.mu.Lock()
			if !slices.Equal(conn.limits, test.want) {
				t.Errorf("%s: the limits are %v", name, conn.limits)
			}
			conn.mu.Unlock()
			_ = near.Close()
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
