package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Rule permits something. Of Agent and Scope at least one is required; both have to fit.
type Rule struct {
	// Agent is the name of the [wire.Identity] whose rule it is: a pattern.
	Agent string `json:"agent,omitempty"`
	// Scope is one that it has to have.
	Scope string `json:"scope,omitempty"`
	// Allow are patterns of the agents and namespaces that it may talk to. A message to
	// nobody in particular needs "*".
	Allow []string `json:"allow"`
	// Acts are the performatives that it may use. Empty means all.
	Acts []performatives.Performative `json:"acts,omitempty"`
}

// Rules say who may talk to whom: a message passes when one of them permits it, answers
// like all others. In a pattern a * at the end stands for anything; the rest is compared as
// agents' ids are, regardless of case. So crm/* is all below crm, and crm is crm alone.
//
//	[
//	  {"agent": "crm", "allow": ["eddy", "billing/*"], "acts": ["TASK_REQUEST", "CANCEL"]},
//	  {"scope": "admin", "allow": ["*"]}
//	]
type Rules []Rule

// maxRulesFile is the greatest length of a file of rules in bytes.
const maxRulesFile = 1 << 20

// LoadRules reads a JSON file of rules, as [ParseRules] does. The error names it.
func LoadRules(path string) (Rules, error) {
	text, err := readSmall(path, maxRulesFile)
	if err != nil {
		return nil, err
	}
	r, err := ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ParseRules reads a JSON array of rules. A member that is not known is an error, since a
// rule that is not understood may permit more than it should; and so is an array without
// rules, which says neither that all may talk nor that nobody may.
func ParseRules(text []byte) (Rules, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var r Rules
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("auth: rules: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("auth: rules: something comes after the array")
	}
	if len(r) == 0 {
		return nil, errors.New("auth: rules: the array is empty: want a rule, or no rules at all")
	}
	return r, r.validate()
}

// validate says which rule is wrong.
func (r Rules) validate() error {
	for i, rule := range r {
		if err := rule.validate(); err != nil {
			return fmt.Errorf("auth: rule %d: %w", i, err)
		}
	}
	return nil
}

func (r Rule) validate() error {
	switch {
	case r.Agent == "" && r.Scope == "":
		return errors.New(`want an agent or a scope; the agent "*" is anyone`)
	case len(r.Allow) == 0:
		return errors.New("allow is empty: want whom it may talk to")
	case slices.ContainsFunc(r.Acts, func(p performatives.Performative) bool { return !p.Valid() }):
		return errors.New("acts has what is no performative")
	}
	for _, p := range append([]string{r.Agent}, r.Allow...) {
		if i := strings.Index(p, "*"); i >= 0 && i != len(p)-1 {
			return fmt.Errorf("%.64q: a * has to be at the end", p)
		}
	}
	if slices.Contains(r.Allow, "") {
		return errors.New("allow has an empty pattern")
	}
	return nil
}

// errNoRule is why a message does not pass, for the log.
var errNoRule = errors.New("auth: no rule permits it")

// Authorizer returns what [wire.Options].Authorize wants. Without rules that is nil, which
// permits everything; with them, what no rule permits is forbidden. Changing r later
// changes nothing.
func (r Rules) Authorizer() (wire.Authorizer, error) {
	if len(r) == 0 {
		return nil, nil //nolint:nilnil // no rules, no authorizer
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	rules := make([]compiled, len(r))
	for i, rule := range r {
		rules[i] = compile(rule)
	}
	return func(who wire.Identity, m *performatives.Message) error {
		for i := range rules {
			if rules[i].permits(who, m) {
				return nil
			}
		}
		return errNoRule
	}, nil
}

// compiled is a rule that is ready to be used.
type compiled struct {
	agent pattern
	scope string
	allow []pattern
	acts  []performatives.Performative
}

func compile(r Rule) compiled {
	c := compiled{agent: newPattern(r.Agent), scope: r.Scope, acts: slices.Clone(r.Acts)}
	for _, a := range r.Allow {
		c.allow = append(c.allow, newPattern(a))
	}
	return c
}

func (c *compiled) permits(who wire.Identity, m *performatives.Message) bool {
	switch {
	case c.scope != "" && !slices.Contains(who.Scopes, c.scope):
		return false
	case c.agent != (pattern{}) && !c.agent.matches(who.Name):
		return false
	case len(c.acts) > 0 && !slices.Contains(c.acts, m.Performative()):
		return false
	}
	return slices.ContainsFunc(c.allow, func(p pattern) bool { return p.matches(m.Receiver()) })
}

// pattern is a name, or the beginning of one.
type pattern struct {
	text   string // folded
	prefix bool
}

func newPattern(s string) pattern {
	text, prefix := strings.CutSuffix(s, "*")
	return pattern{string(performatives.AgentID(text).Fold()), prefix}
}

func (p pattern) matches(id performatives.AgentID) bool {
	text := string(id.Fold())
	return text == p.text || p.prefix && strings.HasPrefix(text, p.text)
}
