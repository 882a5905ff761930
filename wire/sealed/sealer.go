package sealed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/expiring"
	"github.com/ribosome-agents/ribosome/performatives"
)

// CapabilityKeys is the member of an agent's capabilities with the statement of its keys, a string.
// The directory, the handshakes of the dialects and the gossip of a cluster carry it.
const CapabilityKeys = "sealed_keys"

// The defaults of [Options].
const (
	DefaultLifetime  = 5 * time.Minute
	DefaultSkew      = time.Minute
	DefaultMaxBytes  = 8 << 20
	DefaultMaxSeen   = 65_536
	DefaultMaxAgents = 16_384
)

// Options configures a [Sealer]. Agent, Keys and Trust are required.
type Options struct {
	// Agent is the id of the agent.
	Agent performatives.AgentID

	// Keys are the agent's own.
	Keys Keys

	// Trust says which keys of other agents the agent believes.
	Trust Trust

	// Statement is the statement of Keys that an authority has certified: see [Certify]. Empty
	// stands for one of the agent itself.
	Statement string

	// PlainPeers are agents with which the agent exchanges messages that are not sealed. A node
	// that relays these messages can read and change them, and so can anyone that can send as one
	// of these agents.
	PlainPeers []performatives.AgentID

	// Registry has the payload types of the application, by which opened payloads are decoded and
	// checked. Nil has the types of package performatives.
	Registry *performatives.Registry

	// Lifetime is how long a sealed payload is valid. The shorter one of the sender's and the
	// receiver's counts. Zero means DefaultLifetime.
	Lifetime time.Duration

	// Skew is how much the clocks of two agents may differ. Zero means DefaultSkew.
	Skew time.Duration

	// MaxBytes is the length of the longest sealed payload, in bytes as sent: some 1.8 times the
	// JSON. Zero means DefaultMaxBytes.
	MaxBytes int

	// MaxSeen is how many sealed payloads are remembered until they expire, or a third longer,
	// so that none is taken twice. Further ones are refused as busy. Zero means DefaultMaxSeen.
	MaxSeen int

	// MaxAgents is the number of agents whose keys are remembered. Zero means DefaultMaxAgents.
	MaxAgents int

	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Lifetime = cmp.Or(o.Lifetime, DefaultLifetime)
	o.Skew = cmp.Or(o.Skew, DefaultSkew)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	o.MaxSeen = cmp.Or(o.MaxSeen, DefaultMaxSeen)
	o.MaxAgents = cmp.Or(o.MaxAgents, DefaultMaxAgents)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Agent == "":
		return errors.New("sealed: Options.Agent is empty")
	case !o.Keys.valid():
		return errors.New("sealed: Options.Keys is empty: GenerateKeys makes keys")
	case min(o.Lifetime, o.Skew) < 0 || min(o.MaxBytes, o.MaxSeen, o.MaxAgents) < 0:
		return errors.New("sealed: Options.Lifetime, Skew, MaxBytes, MaxSeen or MaxAgents is negative")
	}
	return nil
}

// Sealer seals the payloads that one agent sends and opens those that it gets. It implements the
// interface Sealer of package actors: runtime.Sealed gives it to an agent. Its methods may be
// called from any goroutine.
type Sealer struct {
	opts    Options
	plain   map[performatives.AgentID]bool // by folded id
	started time.Time

	mu        sync.Mutex
	keys      Keys
	former    *Keys // between Rotate and Retire
	version   int64
	statement string
	registry  *registry
	seen      *expiring.Map[struct{}] // the ids of the payloads that were opened, until they have expired anyway
}

// New returns the sealer of an agent. The error names the invalid option.
func New(o Options) (*Sealer, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r, err := newRegistry(o.Trust, o.MaxAgents)
	if err != nil {
		return nil, err
	}
	s := &Sealer{
		opts: o, plain: make(map[performatives.AgentID]bool), started: o.Now(), keys: o.Keys, registry: r,
		seen: expiring.New[struct{}](o.MaxSeen),
	}
	s.seen.Close() // it has no timer: Options.Now is its clock
	for _, id := range o.PlainPeers {
		s.plain[id.Fold()] = true
	}
	if s.statement = o.Statement; o.Statement == "" {
		err = s.restate(o.Keys)
	} else {
		err = s.checkOwn(o.Statement)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// checkOwn checks a statement that is to be the agent's.
func (s *Sealer) checkOwn(text string) error {
	_, about, err := parseStatement(text)
	switch {
	case err != nil:
		return fmt.Errorf("sealed: Options.Statement: %w", err)
	case !about.Agent.Is(s.opts.Agent):
		return fmt.Errorf("sealed: Options.Statement is about the agent %q", about.Agent)
	case about.current(useSign).KeyID != s.keys.signing.KeyID || about.current(useEncrypt).KeyID != s.keys.encryption.KeyID:
		return errors.New("sealed: Options.Statement is about other keys than Options.Keys")
	}
	s.version = about.Version
	return nil
}

// restate makes a new statement of the agent's keys, signed by one of them.
func (s *Sealer) restate(by Keys) (err error) {
	s.version = max(s.version+1, s.opts.Now().UnixMilli())
	s.statement, err = state(s.opts.Agent, s.version, by, s.allKeys()...)
	return err
}

// Agent returns the id of the agent.
func (s *Sealer) Agent() performatives.AgentID { return s.opts.Agent }

// Statement returns the statement of the agent's keys, which is public: a JWS in the compact form.
func (s *Sealer) Statement() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statement
}

// Entry returns the capabilities with the statement of the agent's keys.
func (s *Sealer) Entry(c performatives.Capabilities) performatives.Capabilities {
	c.Extra = maps.Clone(c.Extra)
	if c.Extra == nil {
		c.Extra = make(performatives.Members, 1)
	}
	c.Extra[CapabilityKeys], _ = json.Marshal(s.Statement()) // a string marshals
	return c
}

// Rotate replaces the agent's keys. Payloads that are sealed for the former keys are still opened
// until [Sealer.Retire]. Retire should be called when every peer has heard of the new keys and the
// [Options].Lifetime is over. The former keys sign the new statement, so that peers which trust the
// former keys trust the new ones. Where trust comes from an authority, statement is the authority's
// statement of the new keys; otherwise it is empty. The agent announces the change by
// Announce(Describe()) of its actors.Self.
func (s *Sealer) Rotate(keys Keys, statement string) error {
	if !keys.valid() {
		return errors.New("sealed: rotate: the keys are empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former != nil {
		return errors.New("sealed: rotate: the former keys have not been retired")
	}
	former := s.keys
	s.former, s.keys = &former, keys
	err := s.replace(statement, former)
	if err != nil {
		s.former, s.keys = nil, former
	}
	return err
}

// replace replaces the statement by another one, or by one that the agent itself makes.
func (s *Sealer) replace(statement string, by Keys) error {
	if statement == "" {
		return s.restate(by)
	}
	version := s.version
	if err := s.checkOwn(statement); err != nil {
		return err
	}
	if s.version <= version {
		s.version = version
		return errors.New("sealed: the statement is not newer than the present one")
	}
	s.statement = statement
	return nil
}

// Retire forgets the keys before the last [Sealer.Rotate]. The agent announces the change as that
// of Rotate. Of a statement of an authority it changes nothing.
func (s *Sealer) Retire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former == nil {
		return nil
	}
	s.former = nil
	if _, about, err := parseStatement(s.statement); err == nil && len(about.Keys) == len(s.keys.public()) {
		return nil // an authority has confirmed the new keys alone
	}
	return s.restate(s.keys)
}

// Learn takes in the statement of an agent's keys from its capabilities, such as a handshake or a
// discovery has brought. An agent in the directory of the node needs none of it. The error says why
// the keys are not trusted.
func (s *Sealer) Learn(agent performatives.AgentID, c performatives.Capabilities) error {
	text := statementIn(c)
	if text == "" {
		return fmt.Errorf("sealed: the capabilities of %q have no %s", agent, CapabilityKeys)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.registry.admit(agent, text, s.opts.Now()); err != nil {
		return fmt.Errorf("sealed: the keys of %q: %w", agent, err)
	}
	return nil
}

// statementIn returns the statement in capabilities, or nothing.
func statementIn(c performatives.Capabilities) (text string) {
	if json.Unmarshal(c.Extra[CapabilityKeys], &text) != nil {
		return ""
	}
	return text
}

// keysOf returns the keys of a peer after the newest of those statements that is trusted. The error
// is a [*performatives.Refusal].
func (s *Sealer) keysOf(peer performatives.AgentID, now time.Time, statements ...string) (statement, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var why error
	for _, text := range statements {
		if err := s.registry.admit(peer, text, now); err != nil {
			why = err
		}
	}
	if keys, ok := s.registry.of(peer, now); ok {
		return keys, nil
	}
	text := fmt.Sprintf("no trusted key of the agent %.64q is known", peer)
	if why != nil {
		text += ": " + why.Error()
	}
	return statement{}, &performatives.Refusal{Code: performatives.CodeUnknownKey, Text: text}
}

// ownKeys returns the agent's keys, the current ones first.
func (s *Sealer) ownKeys() []Keys {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allKeys()
}

func (s *Sealer) allKeys() []Keys {
	if s.former != nil {
		return []Keys{s.keys, *s.former}
	}
	return []Keys{s.keys}
}
