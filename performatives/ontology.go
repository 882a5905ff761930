package performatives

// The ontologies that acl defines (acl §5, §7.1; addenda §3).
const (
	OntologyDebugRequest          = "elizaos:ontology:code/python/debug_request"
	OntologySolutionProvided      = "elizaos:ontology:code/python/solution_provided"
	OntologyDebugAnalysis         = "elizaos:ontology:code/python/debug_analysis"
	OntologyRefactorRequest       = "elizaos:ontology:code/general/refactor_request"
	OntologyRefactorSuggestion    = "elizaos:ontology:code/general/refactor_suggestion"
	OntologyTaskAcceptance        = "elizaos:ontology:general/task_acceptance"
	OntologyTaskRejection         = "elizaos:ontology:general/task_rejection"
	OntologyExecutionFailure      = "elizaos:ontology:general/action_execution_failure"
	OntologyNotUnderstood         = "elizaos:ontology:general/message_not_understood"
	OntologyCapabilityQuery       = "elizaos:ontology:agent/capability_query"
	OntologyCapabilityInformation = "elizaos:ontology:agent/capability_information"
)

// LanguageJSON is the language of a payload that says nothing else (acl §5).
const LanguageJSON = "application/json"

// replyOntology returns the ontology of an answer with that payload to a message
// in the ontology of request.
func replyOntology(request string, act Performative, payload any) string {
	switch act { //nolint:exhaustive // every other act keeps the ontology of what it answers
	case ActTaskAccept:
		return OntologyTaskAcceptance
	case ActTaskReject:
		return OntologyTaskRejection
	case ActFailure:
		return OntologyExecutionFailure
	case ActNotUnderstood:
		return OntologyNotUnderstood
	case ActQueryCapabilities:
		return OntologyCapabilityQuery
	case ActInformCapabilities:
		return OntologyCapabilityInformation
	case ActInformResult:
		return resultOntology(request, payload)
	case ActTaskRequest:
		return requestOntology(request)
	}
	return request
}

// requestOntology returns the ontology of a TASK_REQUEST that answers a result in
// the ontology of result: the asker brings what the worker still needed, and goes
// on to ask what it asked before (addenda §3).
func requestOntology(result string) string {
	switch result {
	case OntologySolutionProvided, OntologyDebugAnalysis:
		return OntologyDebugRequest
	case OntologyRefactorSuggestion:
		return OntologyRefactorRequest
	}
	return result
}

func resultOntology(request string, payload any) string {
	switch request {
	case OntologyDebugRequest:
		if r, ok := payload.(InformResult); ok && r.Status == StatusSuccess {
			return OntologySolutionProvided
		}
		return OntologyDebugAnalysis
	case OntologyRefactorRequest:
		return OntologyRefactorSuggestion
	}
	return request
}
