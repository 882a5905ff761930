package performatives

import "fmt"

// QueryType is the kind of a QUERY_CAPABILITIES (acl §4.8, addenda §3).
type QueryType string

// The kinds of query.
const (
	QuerySummary       QueryType = "summary"        // all topics and actions
	QuerySpecific      QueryType = "specific"       // whether the agent has these capabilities
	QueryActionDetails QueryType = "action_details" // all members of one action
)

// MatchType tells whether all or any of the named capabilities must be there.
type MatchType string

// The ways to match. The zero value stands for MatchAll.
const (
	MatchAll MatchType = "all"
	MatchAny MatchType = "any"
)

// QueryCapabilities is the content of QUERY_CAPABILITIES (acl §4.8).
type QueryCapabilities struct {
	Type         QueryType       `json:"query_type"` // required
	Parameters   QueryParameters `json:"query_parameters"`
	Capabilities *Capabilities   `json:"capabilities"` // of a handshake: the speaker's own (addenda §2)
	Schemas      bool            `json:"schemas"`      // of a summary: all of each action, not just name and description (extension)
	// Each asks a namespace for the actions of each of its agents, also for those of the same name.
	// It is not written: only the node of the peer knows its rights.
	Each  bool    `json:"-"`
	Extra Members `json:"-"`
}

// QueryParameters are the parameters of a query about capabilities.
type QueryParameters struct {
	Capabilities []string  `json:"capabilities"` // of a specific query: at least one
	MatchType    MatchType `json:"match_type"`   // of a specific query; empty = all
	ActionName   string    `json:"action_name"`  // of an action_details query
	Extra        Members   `json:"-"`
}

// IsZero reports whether no parameter is set.
func (q QueryParameters) IsZero() bool {
	return len(q.Capabilities) == 0 && q.MatchType == "" && q.ActionName == "" && q.Extra == nil
}

// Act returns [ActQueryCapabilities].
func (QueryCapabilities) Act() Performative { return ActQueryCapabilities }

// Validate checks the kind of query and that its parameters are there.
func (q QueryCapabilities) Validate() error {
	switch q.Type {
	case QuerySummary:
		return nil
	case QuerySpecific:
		return q.Parameters.validateSpecific()
	case QueryActionDetails:
		if q.Parameters.ActionName == "" {
			return invalid("query_parameters.action_name", "a non-empty string", "nothing")
		}
		return nil
	}
	return invalid("query_type", "summary, specific or action_details", fmt.Sprintf("%.32q", string(q.Type)))
}

func (q QueryParameters) validateSpecific() error {
	if len(q.Capabilities) == 0 {
		return invalid("query_parameters.capabilities", "at least one name", "none")
	}
	switch q.MatchType {
	case "", MatchAll, MatchAny:
		return nil
	}
	return invalid("query_parameters.match_type", "all or any", fmt.Sprintf("%.32q", string(q.MatchType)))
}

// InformCapabilities is the content of INFORM_CAPABILITIES. Which fields are set
// depends on the kind of query that it answers (acl §4.9, addenda §3).
type InformCapabilities struct {
	Capabilities *Capabilities `json:"capabilities"`         // of a summary
	MatchResult  *bool         `json:"match_result"`         // of a specific query
	Matched      []string      `json:"matched_capabilities"` // of a specific query
	Action       *Action       `json:"action"`               // of action_details
	Extra        Members       `json:"-" status:"success"`
}

// Act returns [ActInformCapabilities].
func (InformCapabilities) Act() Performative { return ActInformCapabilities }
