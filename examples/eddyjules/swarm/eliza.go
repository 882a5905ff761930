package swarm

import "github.com/ribosome-agents/ribosome/performatives"

// Eliza is an agent with a persona and no developer skill: a query for such a skill gets
// a negative match.
type Eliza struct{}

// Describe returns Eliza's topics and ontologies.
func (Eliza) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Topics:     []string{"Conversation", "Storytelling", "Philosophy"},
		Ontologies: []string{ontologyConversation, ontologyQuery},
		Extra:      role("Conversation"),
	}
}
