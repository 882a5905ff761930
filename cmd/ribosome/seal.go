package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/sealed"
)

// trustFlags say whose keys an agent believes whose payloads are sealed.
type trustFlags struct {
	Trust []string `sep:"none" placeholder:"AGENT=ID" help:"Agent that sealed agents speak with, and the id of its keys by ribosome keys; one a flag"`
}

// pins returns the trust of the flags.
func (f *trustFlags) pins() (map[performatives.AgentID][]string, error) {
	pins := make(map[performatives.AgentID][]string)
	for _, t := range f.Trust {
		agent, id, ok := strings.Cut(t, "=")
		if !ok || agent == "" || id == "" {
			return nil, usagef("--trust %s: want an agent and the id of its keys, such as Jules=ID by ribosome keys", shown(t))
		}
		pins[performatives.AgentID(agent)] = append(pins[performatives.AgentID(agent)], id)
	}
	return pins, nil
}

// sealFlags are those of a node.
type sealFlags struct {
	Seal          []string `sep:"none" placeholder:"AGENT=FILE" help:"Agent of the swarm whose payloads are signed and encrypted, and the file of its keys by ribosome keys; one a flag"`
	TrustFirstUse bool     `help:"Sealed agents also trust the first keys that they see of an agent without --trust"`

	trustFlags
}

// sealers returns those of the agents of the flags. The sealed agents of one node trust each
// other.
func (f *sealFlags) sealers() (map[performatives.AgentID]actors.Sealer, error) {
	pins, err := f.pins()
	if err != nil {
		return nil, err
	}
	if len(f.Seal) == 0 {
		if len(pins) > 0 || f.TrustFirstUse {
			return nil, usagef("--trust and --trust-first-use are for agents with keys; add --seal, such as --seal Jules=jules.jwks")
		}
		return nil, nil
	}
	own := make(map[performatives.AgentID]sealed.Keys)
	for _, s := range f.Seal {
		name, file, ok := strings.Cut(s, "=")
		agent := performatives.AgentID(name)
		if !ok || name == "" || file == "" {
			return nil, usagef("--seal %s: want an agent and a file, such as Jules=jules.jwks", shown(s))
		}
		if _, twice := own[agent]; twice {
			return nil, usagef("--seal names %s twice", shown(name))
		}
		if own[agent], err = readKeys("--seal "+name, file); err != nil {
			return nil, err
		}
		pins[agent] = append(pins[agent], own[agent].ID())
	}
	all := make(map[performatives.AgentID]actors.Sealer)
	for agent, keys := range own {
		if all[agent], err = newSealer(agent, keys, sealed.Trust{Pins: pins, FirstUse: f.TrustFirstUse}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func newSealer(agent performatives.AgentID, keys sealed.Keys, trust sealed.Trust) (*sealed.Sealer, error) {
	s, err := sealed.New(sealed.Options{Agent: agent, Keys: keys, Trust: trust})
	if err != nil {
		return nil, usagef("the keys of %s: %v", shown(string(agent)), err)
	}
	return s, nil
}

// checkSealed returns an error for an agent with keys that the node does not run.
func checkSealed(n *runtime.Node, sealers map[performatives.AgentID]actors.Sealer) error {
	for agent := range sealers {
		if _, ok := n.Directory().Lookup(agent); !ok {
			return usagef("--seal %s: the node runs no such agent; see --swarm", shown(string(agent)))
		}
	}
	return nil
}

// clientSealFlags are those of a command that speaks as an agent.
type clientSealFlags struct {
	Keys string `placeholder:"FILE" help:"Keys by ribosome keys, to sign and encrypt payloads with for the agents of --trust; it needs --as"`

	trustFlags
}

// seal gives the link the sealer of the flags, if there is one.
func (f *clientSealFlags) seal(l *link) error {
	pins, err := f.pins()
	switch {
	case err != nil:
		return err
	case f.Keys == "" && len(pins) > 0:
		return usagef("--trust is for an agent with keys; add --seal, such as --keys alice.jwks")
	case f.Keys == "":
		return nil
	case l.nameless:
		return usagef("--keys: keys are of one agent; give it a name with --as")
	case len(pins) == 0:
		return usagef("--keys: there is nobody to speak with; add --trust, such as --trust Jules=ID by ribosome keys")
	}
	keys, err := readKeys("--keys", f.Keys)
	if err != nil {
		return err
	}
	s, err := newSealer(l.name, keys, sealed.Trust{Pins: pins})
	if err != nil {
		return err
	}
	l.sealer = s
	l.learns = func(ctx context.Context) error { return learn(ctx, l.node, s, slices.Sorted(maps.Keys(pins))) }
	return nil
}

// learn asks agents for their keys.
func learn(ctx context.Context, n *runtime.Node, s *sealed.Sealer, agents []performatives.AgentID) error {
	for _, agent := range agents {
		answer, err := n.Ask(ctx, agent, performatives.QueryCapabilities{Type: performatives.QuerySummary})
		if err != nil {
			return fmt.Errorf("the keys of %s: %w", agent, err)
		}
		can, err := performatives.PayloadAs[performatives.InformCapabilities](answer)
		if err != nil || can.Capabilities == nil {
			return failf("the agent %s has not said which keys it has", shown(string(agent)))
		}
		if err := s.Learn(agent, *can.Capabilities); err != nil {
			return failf("the keys of %s are not those of --trust: %v", shown(string(agent)), err)
		}
	}
	return nil
}

// keysCmd is ribosome keys.
type keysCmd struct {
	File string `arg:"" help:"File with the private keys: a JSON Web Key Set"`

	New  bool `help:"Make keys, and write them to the file, which must not exist"`
	JSON bool `name:"json" help:"Print one JSON object: the id, and the public keys as a JSON Web Key Set"`
}

// run prints the id of the keys, by which other agents trust them: see --trust.
func (c *keysCmd) run(_ context.Context, std streams) error {
	if c.New {
		if err := newKeys(c.File); err != nil {
			return err
		}
	}
	keys, err := readKeys("the file", c.File)
	if err != nil {
		return err
	}
	out := newPrinter(std.out)
	if !c.JSON {
		out.line(keys.ID())
		return out.end()
	}
	public, err := keys.Public()
	if err != nil {
		return failf("%v", err)
	}
	out.json(struct {
		ID     string          `json:"id"`
		Public json.RawMessage `json:"public"`
	}{keys.ID(), public})
	return out.end()
}

// newKeys writes new keys to a file that only its owner may read.
func newKeys(name string) error {
	keys, err := sealed.GenerateKeys()
	if err != nil {
		return failf("%v", err)
	}
	text, err := keys.Secret()
	if err != nil {
		return failf("%v", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists; leave out --new to see its keys, or name another file", shown(name))
	}
	if err != nil {
		return notWritable("the file", name, err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return notWritable("the file", name, err)
	}
	return nil
}

// readKeys reads the keys in the file that a flag names.
func readKeys(flag, name string) (sealed.Keys, error) {
	return parseFile(flag, name, sealed.ParseKeys, "make keys by ribosome keys --new")
}
