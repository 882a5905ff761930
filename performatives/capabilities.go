package performatives

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Capabilities has the topics and the actions that an agent announces for discovery.
type Capabilities struct {
	Topics  []string `json:"topics"`  // fields of skill, such as "Python"
	Actions []Action `json:"actions"` // tasks that it performs
	// Ontologies are the ontologies that the agent knows; empty = any. A request in another one is
	// NOT_UNDERSTOOD with [CodeUnknownOntology] (addenda §7). The member is an extension.
	Ontologies []string `json:"ontologies"`
	// Languages are the languages of payloads that the agent reads, such as application/json; none
	// means any. A request in another one is NOT_UNDERSTOOD with [CodeUnsupportedLanguage] (addenda
	// §9). The member is an extension.
	Languages []string `json:"languages"`
	// Resources are what the agent lets others read (the Model Context Protocol). The member is an
	// extension.
	Resources []Resource `json:"resource_list"`
	Extra     Members    `json:"-"`
}

// Offers reports whether an agent with the capabilities offers anything to others.
func (c Capabilities) Offers() bool { return len(c.Topics)+len(c.Actions)+len(c.Resources) > 0 }

// Action is one task that an agent performs.
type Action struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`  // JSON Schema of the parameters; empty = any
	OutputSchema json.RawMessage `json:"output_schema"` // JSON Schema of the result; empty = any
	Examples     []Content       `json:"examples"`
	Ontology     string          `json:"ontology"` // of a request for the action that names none (addenda §7; extension); empty = none
	Extra        Members         `json:"-"`
}

// FoldCapability returns the form under which names of capabilities are
// compared: lower case, with _, - and space being the same (addenda §3).
func FoldCapability(name string) string {
	return strings.TrimSpace(capabilitySpaces.Replace(strings.ToLower(name)))
}

var capabilitySpaces = strings.NewReplacer("_", " ", "-", " ")

// Match returns the wanted names that c has among its topics and actions, in the
// spelling of c and in the order of wanted. A name that is wanted twice matches once.
func (c Capabilities) Match(wanted []string) []string {
	own := make(map[string]string, len(c.Topics)+len(c.Actions))
	for _, a := range c.Actions {
		own[FoldCapability(a.Name)] = a.Name
	}
	for _, t := range c.Topics {
		own[FoldCapability(t)] = t
	}
	var matched []string
	for _, w := range wanted {
		if name, ok := own[FoldCapability(w)]; ok {
			matched = append(matched, name)
			delete(own, FoldCapability(w))
		}
	}
	return matched
}

// KnowsOntology reports whether c has the ontology. It has every ontology if it declares none, and
// a message without an ontology is always understood. Ontologies are compared exactly.
func (c Capabilities) KnowsOntology(ontology string) bool {
	return ontology == "" || len(c.Ontologies) == 0 || slices.Contains(c.Ontologies, ontology)
}

// ReadsLanguage reports whether c has the language. It has every language if it declares none. A
// message without a language is always read, and so is one with the tag of a natural language, such
// as en. Parameters of a media type do not count.
func (c Capabilities) ReadsLanguage(language string) bool {
	if language == "" || len(c.Languages) == 0 || naturalLanguage.MatchString(language) {
		return true
	}
	media := func(l string) string { l, _, _ = strings.Cut(l, ";"); return strings.TrimSpace(l) }
	return slices.ContainsFunc(c.Languages, func(own string) bool { return strings.EqualFold(media(own), media(language)) })
}

// naturalLanguage matches tags of natural languages (RFC 5646).
var naturalLanguage = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$`)

// UnknownOntology returns the refusal of a message to agent by, which has the capabilities c and
// does not know the ontology (addenda §7) or the language (addenda §9) of the message; nil for any
// other message. A CANCEL, and the acts of discovery, mean the same in all of them.
func (c Capabilities) UnknownOntology(by AgentID, m *Message) *Refusal {
	switch m.Performative() { //nolint:exhaustive // the acts that pass
	case ActCancel, ActQueryCapabilities, ActInformCapabilities:
		return nil
	}
	if len(c.Ontologies)+len(c.Languages) == 0 { // any
		return nil
	}
	refuse := func(code Code, field string, known []string, got string) *Refusal {
		return &Refusal{From: by, About: m.ID(), Code: code, Field: field, Text: fmt.Sprintf("%s: want one of %q, got %.128q", field, known, got)}
	}
	switch {
	case !c.KnowsOntology(m.Ontology()):
		return refuse(CodeUnknownOntology, "ontology", c.Ontologies, m.Ontology())
	case !c.ReadsLanguage(m.Language()):
		return refuse(CodeUnsupportedLanguage, "language", c.Languages, m.Language())
	}
	return nil
}

// HasAll reports whether c has every one of the wanted names.
func (c Capabilities) HasAll(wanted []string) bool {
	return len(c.Match(wanted)) == len(distinct(wanted))
}

// Action returns the action of that name, compared as [FoldCapability] does.
func (c Capabilities) Action(name string) (Action, bool) {
	want := FoldCapability(name)
	for _, a := range c.Actions {
		if FoldCapability(a.Name) == want {
			return a, true
		}
	}
	return Action{}, false
}
