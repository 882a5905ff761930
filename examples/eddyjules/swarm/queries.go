package swarm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Condition is a condition of QUERY_IF that [Jules] understands (acl §4.4): an object with at least
// one of these members, all of which must be true. The text "has_capacity" is the condition with
// that member alone.
type Condition struct {
	HasCapacity *bool    `json:"has_capacity,omitempty"` // Jules can begin another task now, or cannot
	Skill       string   `json:"skill,omitempty"`        // Jules has this topic or action
	Skills      []string `json:"skills,omitempty"`       // Jules has all of these
	TaskType    string   `json:"task_type,omitempty"`    // Jules performs tasks of this type
}

// Capacity is the value of the reference "capacity" of [Jules].
type Capacity struct {
	MaxTasks int `json:"max_tasks"` // at a time
	UnderWay int `json:"under_way"` // tasks whose work has begun
	Free     int `json:"free"`
}

const conditionField = "condition"

// HandleQueryIf answers a [Condition]. Jules cannot decide another text, and does not understand
// any other condition.
func (j *Jules) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) {
	c, err := conditionOf(q.Condition)
	if err != nil {
		return false, err
	}
	known := q.Agent.Describe()
	_, performs := known.Action(c.TaskType)
	capacity := c.HasCapacity == nil || *c.HasCapacity == (j.capacity().Free > 0)
	return capacity && (c.Skill == "" || known.HasAll([]string{c.Skill})) && known.HasAll(c.Skills) && (c.TaskType == "" || performs), nil
}

// conditionOf decodes a condition. The error is a [*performatives.Refusal].
func conditionOf(c performatives.Content) (Condition, error) {
	if text, err := performatives.Decode[string](c); err == nil {
		yes := true
		if text == "has_capacity" {
			return Condition{HasCapacity: &yes}, nil
		}
		return Condition{}, unanswered(performatives.CodeCannotDecide, conditionField, `"has_capacity" or an object`, text)
	}
	members, err := performatives.Decode[map[string]json.RawMessage](c)
	if err != nil {
		return Condition{}, misread(conditionField, `"has_capacity" or an object`, "another value")
	}
	known := []string{"has_capacity", "skill", "skills", "task_type"}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return Condition{}, misread(conditionField, fmt.Sprintf("members of %q", known), name)
		}
	}
	if len(members) == 0 {
		return Condition{}, misread(conditionField, fmt.Sprintf("members of %q", known), "none")
	}
	return performatives.Decode[Condition](c)
}

// HandleQueryRef returns the value of a reference: capacity (a [Capacity]), skills (the topics),
// task_types or ontologies. Jules knows no other reference.
func (j *Jules) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) {
	known := q.Agent.Describe()
	switch q.Reference {
	case "capacity":
		return j.capacity(), nil
	case "skills":
		return known.Topics, nil
	case "task_types":
		names := make([]string, len(known.Actions))
		for i, a := range known.Actions {
			names[i] = a.Name
		}
		return names, nil
	case "ontologies":
		return known.Ontologies, nil
	}
	return nil, unanswered(performatives.CodeUnknownReference, "reference", "capacity, skills, task_types or ontologies", q.Reference)
}

// capacity returns the capacity at this moment. Safe for concurrent use.
func (j *Jules) capacity() Capacity {
	limit, underWay := cmp.Or(max(j.Limit, 0), codons.DefaultMaxTasks), int(j.underWay.Load())
	return Capacity{MaxTasks: limit, UnderWay: underWay, Free: max(limit-underWay, 0)}
}

func misread(field, want, got string) error {
	return unanswered(performatives.CodeInvalidPayload, field, want, got)
}

func unanswered(code performatives.Code, field, want, got string) error {
	return &performatives.Refusal{Code: code, Field: field, Text: fmt.Sprintf("%s: want %s, got %.64q", field, want, got)}
}
