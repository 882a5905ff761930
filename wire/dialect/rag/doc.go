// Package rag speaks the message format of the Agentic RAG specification (rag, with §1, §2, §3b, §7
// and §8 of the addenda): one [performatives.Message] is one JSON object.
//
// # The envelope
//
//	{"type": "RETRIEVAL_REQUEST", "sender": "System", "receiver": "RetrievalAgent",
//	 "trace_id": "ret-rag-conversation-123-002", "timestamp": "2025-01-30T10:31:00Z",
//	 "payload": {"query": "What KPIs were tracked in Q1?", "top_k": 5},
//	 "metadata": {"priority": "high"}}
//
// All members but metadata are required, and text is not empty. There is no broadcast. Decoding and
// then encoding a message gives every member, known or not, with the same JSON value; timestamps
// are written as RFC 3339 in UTC.
//
// # Types
//
//	DOCUMENT_INGESTION, RETRIEVAL_REQUEST, RESPONSE_REQUEST   TASK_REQUEST; task_type is the type in
//	                                    lower case, the payload is its parameters
//	RETRIEVAL_RESULT, RESPONSE_RESULT   INFORM_RESULT; the payload is its details, response its summary
//	ERROR_MESSAGE                       FAILURE; TASK_REJECT, NOT_UNDERSTOOD and REFUSE, too, where
//	                                    metadata.performative names them
//	AGENT_REGISTRATION, AGENT_STATUS    QUERY_CAPABILITIES with the sender's own, see below
//	CANCEL, INFORM, … (each act)        the act of that name, with its payload
//	a registered message type           its act ([performatives.RegisterMessageType], [performatives.Registry.RegisterChecked])
//	any other type                      the result, from an agent that was asked in the same trace; else a
//	                                    TASK_REQUEST, or the act that metadata.performative names
//
// An answer to a request of another type than the six has its type with _RESULT in place of
// _REQUEST, or behind it.
//
// The optional members of metadata are priority (low, medium, normal, high, urgent or 1 to 5),
// protocol, trace (W3C traceparent), budget, performative, message_type, task_request (what a task
// has beside its type and parameters) and inform_result (what a result has beside its details). One
// of another form is the application's. In the message, members of metadata have their names, and
// unknown members of the envelope the prefix "envelope.".
//
// Where the error_code of an ERROR_MESSAGE stands for several codes of this module, the payload has
// the exact one as reason_code. retry_after_ms says when a busy agent wants to be asked again.
//
// # Traces
//
// A trace id is <prefix>-<conversation>-<sequence>: the middle is the conversation (addenda §3b).
// An answer has the trace id of its request; an error has one of its own, and that of the request
// in original_request. These relate answers to requests, as rag has no message ids. The id of a
// decoded message is a digest of its members: the same frame again is a duplicate, one with another
// timestamp is another attempt. While a request is open, a further one of its sender to the same
// agent in the same conversation gets a conversation of its own, named after its trace id, so that
// many can be under way.
//
// # Who gets a result
//
// A result of the peer goes to the receiver that it names. Of a RETRIEVAL_RESULT that is the
// LLMResponseAgent, and not the agent that asked (addenda §2: recruiting); the request of that
// agent ends with a result without content, which names the receiver ([MetadataResultFor]); a peer
// gets it with that name in its metadata. A result or error for System goes to the agent that
// asked. A peer that is System itself keeps that name (addenda §9).
//
// # Failures
//
// A message that says no becomes ERROR_MESSAGE, and a frame that is not served is answered by one:
// see failure.go. [ErrorCodes] has the words for our codes.
//
// # Registration
//
// AGENT_REGISTRATION has an AgentRegistration as payload, with all its members. Its capabilities
// become topics of the agent, and its message_types that ask for a task become actions. The answer
// is AGENT_REGISTRATION_RESULT with all of that, and with the capabilities of the node as
// node_capabilities. AGENT_STATUS has the object of
// Agent Health Monitoring; it is a heartbeat, and has no answer. AGENT_STATUS_REQUEST is a task,
// for which a node has that object as its result. An agent whose status is inactive or error is not
// found by others. TASK_ACCEPT, AGREE and STATUS_UPDATE are written only to an agent that has named
// them in message_types, or used them: one that knows the text alone would answer them by an error.
//
// # Limits
//
// A frame may have [wire.CodecOptions].MaxBytes bytes, nest 128 levels deep, have 1,024
// unknown members, and 1,024 in its metadata. It must be valid UTF-8. No member of the envelope or
// of its metadata may come twice; in a payload the last one counts. MaxPending bounds the open
// requests in each direction: at the bound, the oldest is dropped, and its answer has a new trace
// id.
package rag
