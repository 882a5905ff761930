package auth

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Rule permits messages. At least one of Agent and Scope is required. A rule with both
// applies only if both match.
type Rule struct {
	// Agent is a pattern for the name of the [wire.Identity].
	Agent string `json:"agent,omitempty"`
	// Scope is a scope that the identity must have.
	Scope string `json:"scope,omitempty"`
	// Allow are patterns of the permitted receivers: agents and namespaces. A message without
	// a receiver needs "*". What the node serves itself needs none: see [wire.HostHandler].
	Allow []string `json:"allow"`
	// Acts are the permitted performatives. Empty means all.
	Acts []performatives.Performative `json:"acts,omitempty"`
	// Operator are the rights of an operator of the node that the rule grants: see
	// [Rules.Operator]. A rule that grants some may have an empty Allow.
	Operator []Right `json:"operator,omitempty"`
}

// Right is a right of an operator of a node. Neither includes the other.
type Right string

const (
	// RightRead permits to see the agents, the conversations and their messages.
	RightRead Right = "read"
	// RightAct permits to cancel conversations and to decide approvals.
	RightAct Right = "act"
)

// Operator returns a function that reports whether an identity has a right. A right needs a rule
// that grants it; empty rules grant both to everyone, as they permit every message. The error names
// an invalid rule. Later changes of r have no effect.
func (r Rules) Operator() (func(who wire.Identity, right Right) bool, error) {
	rules, err := r.compile()
	if err != nil {
		return nil, err
	}
	return func(who wire.Identity, right Right) bool {
		return len(rules) == 0 || slices.ContainsFunc(rules, func(c compiledRule) bool { return slices.Contains(c.operator, right) && c.concerns(who) })
	}, nil
}

// Rules decide which peer may send to which agent. A message is permitted if at least one
// rule permits it; replies are checked like other messages. In a pattern, a * at the end
// matches any text. The rest is compared like agent ids, ignoring case. So crm/* matches
// every id below crm, and crm matches only crm.
//
//	[
//	  {"agent": "crm", "allow": ["eddy", "billing/*"], "acts": ["TASK_REQUEST", "CANCEL"]},
//	  {"scope": "admin", "allow": ["*"]}
//	]
type Rules []Rule

// ParseRules parses a JSON array of rules. An unknown member is an error, because ignoring it may
// permit more than intended. So are a member that occurs twice, a name in another case, and text
// behind the array. An empty array is an error, because it could mean that everything or that
// nothing is permitted.
func ParseRules(text []byte) (Rules, error) {
	var r Rules
	if err := cmp.Or(CheckMark(text), jsonscan.UnmarshalKnown(text, &r)); err != nil {
		return nil, fmt.Errorf("auth: rules: %w", err)
	}
	if len(r) == 0 {
		return nil, errors.New("auth: rules: the array is empty: want a rule, or no rules at all")
	}
	return r, r.validate()
}

// validate returns an error that names the invalid rule.
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
		return errors.New(`want an agent or a scope; the agent "*" matches all`)
	case slices.ContainsFunc(r.Operator, func(right Right) bool { return right != RightRead && right != RightAct }):
		return errors.New("operator has an entry that is neither read nor act")
	case len(r.Allow) == 0 && len(r.Operator) == 0:
		return errors.New("allow is empty: want at least one receiver")
	case slices.ContainsFunc(r.Acts, func(p performatives.Performative) bool { return !p.Valid() }):
		return errors.New("acts has an entry that is not a performative")
	}
	for _, p := range append([]string{r.Agent}, r.Allow...) {
		if i := strings.Index(p, "*"); i >= 0 && i != len(p)-1 {
			return fmt.Errorf("%.64q: a * must be at the end", p)
		}
		if id := strings.TrimSuffix(p, "*"); id != "" {
			if err := checkName(id); err != nil {
				return fmt.Errorf("%.64q: %w", p, err)
			}
		}
	}
	if slices.Contains(r.Allow, "") {
		return errors.New("allow has an empty pattern")
	}
	return nil
}

// errNoRule is the reason for a forbidden message in the log.
var errNoRule = errors.New("auth: no rule permits it")

// Authorizer returns an authorizer for [wire.Options].Authorize. It forbids each message that
// no rule permits. Empty rules give nil, which permits everything. Later changes of r have no
// effect.
func (r Rules) Authorizer() (wire.Authorizer, error) {
	if len(r) == 0 {
		return nil, nil //nolint:nilnil // no rules, no authorizer
	}
	rules, err := r.compile()
	if err != nil {
		return nil, err
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

// compiledRule is a rule with parsed patterns.
type compiledRule struct {
	agent    pattern
	scope    string
	allow    []pattern
	acts     []performatives.Performative
	operator []Right
}

// compile checks the rules, and parses their patterns.
func (r Rules) compile() (all []compiledRule, err error) {
	for _, rule := range r {
		c := compiledRule{agent: newPattern(rule.Agent), scope: rule.Scope, acts: slices.Clone(rule.Acts), operator: slices.Clone(rule.Operator)}
		for _, a := range rule.Allow {
			c.allow = append(c.allow, newPattern(a))
		}
		all = append(all, c)
	}
	return all, r.validate()
}

// concerns reports whether the rule is about an identity.
func (c *compiledRule) concerns(who wire.Identity) bool {
	return (c.scope == "" || slices.Contains(who.Scopes, c.scope)) && (c.agent == (pattern{}) || c.agent.matches(who.Name))
}

func (c *compiledRule) permits(who wire.Identity, m *performatives.Message) bool {
	if !c.concerns(who) || len(c.acts) > 0 && !slices.Contains(c.acts, m.Performative()) {
		return false
	}
	return slices.ContainsFunc(c.allow, func(p pattern) bool { return p.matches(m.Receiver()) })
}

// pattern is a name, or a prefix of names.
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
