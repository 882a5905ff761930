package swarm

import "github.com/ribosome-agents/ribosome/performatives"

// Eliza has a persona and no skill that a developer needs: whoever asks for one
// gets a negative match.
type Eliza struct{}

// Describe returns Eliza's topics.
func (Eliza) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Conversation", "Storytelling", "Philosophy"}}
}
