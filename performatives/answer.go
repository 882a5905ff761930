package performatives

import (
	"fmt"
	"slices"
)

// Answer returns the answer to q of an agent with the capabilities c. The error is a
// [*Refusal]: [CodeUnknownAction] for an action that c lacks, and the error of
// Validate for a query that is not well-formed. The answer shares no slice or map
// with c, so that the owner of c may change c while the answer travels.
func (c Capabilities) Answer(q QueryCapabilities) (InformCapabilities, error) {
	if err := q.Validate(); err != nil {
		return InformCapabilities{}, err
	}
	switch q.Type {
	case QuerySpecific:
		return c.answerSpecific(q.Parameters), nil
	case QueryActionDetails:
		return c.answerDetails(q.Parameters.ActionName)
	case QuerySummary:
	}
	return InformCapabilities{Capabilities: c.summary(q.Schemas)}, nil
}

func (c Capabilities) answerSpecific(q QueryParameters) InformCapabilities {
	matched := c.Match(q.Capabilities)
	all := c.HasAll(q.Capabilities)
	result := all || (q.MatchType == MatchAny && len(matched) > 0)
	// An empty list is written too: the initiator expects both members.
	return InformCapabilities{MatchResult: &result, Matched: append([]string{}, matched...)}
}

func (c Capabilities) answerDetails(name string) (InformCapabilities, error) {
	a, ok := c.Action(name)
	if !ok {
		return InformCapabilities{}, &Refusal{Code: CodeUnknownAction, Text: fmt.Sprintf("there is no action %.64q", name)}
	}
	a = a.clone()
	return InformCapabilities{Action: &a}, nil
}

func (a Action) clone() Action {
	a.InputSchema, a.OutputSchema = slices.Clone(a.InputSchema), slices.Clone(a.OutputSchema)
	a.Examples, a.Extra = slices.Clone(a.Examples), a.Extra.clone()
	return a
}

// summary returns a copy of c. Unless whole, an action has its name and description only.
func (c Capabilities) summary(whole bool) *Capabilities {
	out := &Capabilities{
		Topics:  append([]string{}, c.Topics...), // written even when empty, as Actions
		Actions: make([]Action, len(c.Actions)),
		Extra:   c.Extra.clone(),

		Ontologies: slices.Clone(c.Ontologies),
		Languages:  slices.Clone(c.Languages),
		Resources:  slices.Clone(c.Resources),
	}
	for i, a := range c.Actions {
		if !whole {
			a = Action{Name: a.Name, Description: a.Description}
		}
		out.Actions[i] = a.clone()
	}
	return out
}

func distinct(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[FoldCapability(n)] = true
	}
	return set
}
