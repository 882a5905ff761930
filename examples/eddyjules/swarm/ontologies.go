package swarm

import "github.com/ribosome-agents/ribosome/performatives"

// The ontologies of requests: those in the examples of acl (acl §3), and those of the variant of
// IDE clients, which end in the type of the task (addenda §3).
const (
	ontologyCoding       = "elizaos:coding"
	ontologyDebugging    = "elizaos:code_debugging"
	ontologyQuery        = "elizaos:general_query"
	ontologyConversation = "elizaos:ontology:general/conversation"
	ontologyIDE          = "elizaos:ide:"
)

// debugOntologies are the ontologies of an agent that takes debug_code tasks.
func debugOntologies() []string {
	return []string{performatives.OntologyDebugRequest, ontologyIDE + TaskDebugCode, ontologyCoding, ontologyDebugging, ontologyQuery}
}
