package sealed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Trust says which keys of other agents an agent believes. The entries of a directory come from
// nodes that may lie, and a key by itself does not prove to which agent it belongs. At least one
// field must be set.
//
// Where an agent's keys are trusted by Pins or FirstUse, so are its later keys, if a statement
// signed by one of the trusted keys announces them. An older statement never replaces a newer one.
type Trust struct {
	// Authorities have keys in the form of [Keys.Public]. A statement that one of them has signed
	// ([Certify]) is trusted for the agent that it names.
	Authorities [][]byte

	// Pins has for each agent the ids ([Keys.ID]) of its keys. The keys of an agent with a pin are
	// trusted by nothing else.
	Pins map[performatives.AgentID][]string

	// FirstUse trusts the first keys that an agent is seen with. A hostile node that is there from
	// the beginning can put its own keys in their place.
	FirstUse bool
}

// registry has the statements that are trusted. It is guarded by Sealer.mu.
type registry struct {
	authorities map[string]jose.JSONWebKey // by id
	pins        map[performatives.AgentID]map[string]bool
	firstUse    bool
	max         int
	known       map[performatives.AgentID]*known // by folded id
}

// known is the trusted statement of one agent.
type known struct {
	statement
	text        string
	signers     map[string]bool // ids of keys whose statements are trusted
	byAuthority bool
}

func newRegistry(t Trust, limit int) (*registry, error) {
	r := &registry{
		authorities: make(map[string]jose.JSONWebKey), pins: make(map[performatives.AgentID]map[string]bool),
		firstUse: t.FirstUse, max: limit, known: make(map[performatives.AgentID]*known),
	}
	if len(t.Authorities) == 0 && len(t.Pins) == 0 && !t.FirstUse {
		return nil, errors.New("sealed: Options.Trust is empty: set Authorities, Pins or FirstUse")
	}
	for i, text := range t.Authorities {
		k, err := parseAuthority(text)
		if err != nil {
			return nil, fmt.Errorf("sealed: Trust.Authorities[%d]: %w", i, err)
		}
		r.authorities[k.KeyID] = k
	}
	for agent, ids := range t.Pins {
		if len(ids) == 0 {
			return nil, fmt.Errorf("sealed: Trust.Pins[%q] has no key", agent)
		}
		pins := make(map[string]bool, len(ids))
		for _, id := range ids {
			pins[id] = true
		}
		r.pins[agent.Fold()] = pins
	}
	return r, nil
}

// admit takes in the statement of an agent, if it is trusted and none that is newer is known.
func (r *registry) admit(agent performatives.AgentID, text string, now time.Time) error {
	key := agent.Fold()
	before := r.known[key]
	if text == "" || before != nil && before.text == text {
		return nil
	}
	s, about, err := parseStatement(text)
	switch {
	case err != nil:
		return err
	case !about.Agent.Is(agent):
		return fmt.Errorf("the statement is about the agent %.64q", about.Agent)
	case about.expired(now):
		return errors.New("the statement has expired")
	case before != nil && about.Version < before.Version:
		return errors.New("the statement is older than one that is known")
	case before == nil && len(r.known) >= r.max:
		return fmt.Errorf("the keys of %d agents are known, and there is no room for more", r.max)
	}
	by, authority, err := r.signer(key, s.kid, about, before)
	if err == nil {
		err = s.verify(by)
	}
	if err != nil {
		return err
	}
	k := &known{about, text, make(map[string]bool), authority}
	for id := range maps.Keys(r.pins[key]) {
		k.signers[id] = true
	}
	for _, public := range about.Keys {
		if public.Use == useSign {
			k.signers[public.KeyID] = true
		}
	}
	r.known[key] = k
	return nil
}

// signer returns the key that must have signed a statement.
func (r *registry) signer(agent performatives.AgentID, kid string, about statement, before *known) (by jose.JSONWebKey, authority bool, err error) {
	pins := r.pins[agent]
	if by, ok := r.authorities[kid]; ok && pins == nil {
		return by, true, nil
	}
	trusted := pins[kid]
	switch {
	case before != nil:
		trusted = trusted || !before.byAuthority && before.signers[kid]
	case pins == nil:
		trusted = r.firstUse
	}
	by, own := about.key(kid, useSign)
	if !trusted || !own {
		return by, false, fmt.Errorf("the key %.16s…, which has signed the statement of the agent's keys, is not trusted", kid)
	}
	return by, false, nil
}

// of returns the keys of an agent.
func (r *registry) of(agent performatives.AgentID, now time.Time) (statement, bool) {
	k := r.known[agent.Fold()]
	if k == nil || k.expired(now) {
		return statement{}, false
	}
	return k.statement, true
}

// parseAuthority reads the key of an authority.
func parseAuthority(text []byte) (jose.JSONWebKey, error) {
	var set jose.JSONWebKeySet
	if err := jsonscan.Unmarshal(text, &set); err != nil {
		return jose.JSONWebKey{}, errors.New("want a JSON Web Key Set")
	}
	i := slices.IndexFunc(set.Keys, func(k jose.JSONWebKey) bool { return k.Use == useSign })
	if i < 0 || !set.Keys[i].IsPublic() {
		return jose.JSONWebKey{}, errors.New("want a public key with the use sig")
	}
	k := set.Keys[i]
	if err := checkPublic(k); err != nil {
		return k, err
	}
	return jose.JSONWebKey{Key: k.Key, Use: useSign, KeyID: thumbprint(k)}, nil
}
