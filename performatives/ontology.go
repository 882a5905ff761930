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

// LanguageJSON is the default language of a payload (acl §5).
const LanguageJSON = "application/json"

// ReplyOntology returns the ontology of an answer with that act and payload to a message of the
// ontology request. acl gives the acceptances, refusals and failures, and some results, an
// ontology of their own (acl §5, §7.1). Any other answer has that of the request.
func ReplyOntology(request string, act Performative, payload any) string {
	switch act { //nolint:exhaustive // every other act keeps the ontology of the answered message
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
		switch request {
		case OntologyDebugRequest:
			if r, ok := payload.(InformResult); ok && r.Status == StatusSuccess {
				return OntologySolutionProvided
			}
			return OntologyDebugAnalysis
		case OntologyRefactorRequest:
			return OntologyRefactorSuggestion
		}
	case ActTaskRequest:
		return requestOntology(request)
	}
	return request
}

// requestOntology returns the ontology of a TASK_REQUEST that answers a result with the
// ontology result. Such a request supplies input that the worker asked for, and has the
// ontology of the original request (addenda §3).
func requestOntology(result string) string {
	switch result {
	case OntologySolutionProvided, OntologyDebugAnalysis:
		return OntologyDebugRequest
	case OntologyRefactorSuggestion:
		return OntologyRefactorRequest
	}
	return result
}
