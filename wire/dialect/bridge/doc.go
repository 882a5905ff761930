// Package bridge speaks the MCP-to-MCP Bridge Protocol (bridge, with §1, §2 and §8 of the addenda):
// one [performatives.Message] is one JSON object of six message types.
//
// # Messages
//
//	handshake_request    QUERY_CAPABILITIES with the capabilities of the sender
//	handshake_response   INFORM_CAPABILITIES, or REFUSE where accepted is false
//	request              TASK_REQUEST of the type tool_name, with the parameters arguments
//	response             INFORM_RESULT: success, or failure where success is false
//	notification         INFORM
//	error                TASK_REJECT for TOOL_NOT_FOUND and UNAUTHORIZED, NOT_UNDERSTOOD for
//	                     INVALID_ARGUMENTS, FAILURE for any other error_code
//
// Of the envelope, message_id, message_type, sender_id and payload are required; correlation_id in
// an answer, and receiver_id in a request. A message without a timestamp has that of its arrival.
// accepted may be beside the payload, in it, or in both; it is written in both. timeout is in
// seconds from the arrival; it is written in whole seconds, rounded up. result may be any JSON
// value: a text is the summary of a result, and another value that is no object becomes the member
// result of its details. Errors are written in errors.go, with the words of [ErrorCodes]. The exact
// reason of an error is details.reason_code ([performatives.Code]), and details.field names the
// wrong member. details.retry_after_ms says when a busy agent wants to be asked again.
//
// An INFORM of an agent that knows no event types is written with the event_type inform and its
// payload as data.
//
// # Extensions of the envelope
//
// The member metadata has what the specification has no place for: message_type, protocol, trace,
// budget, conversation_id, and performative for a message whose act is not the usual one of its
// message type. A peer may ignore it. Each member is written only where the message needs it.
//
// A request with an application's message type is a request of the tool of that name, with the
// payload as arguments. Its answer is a response with the payload as result, or an error with
// details.payload. Any other message with a message type is a notification, with the payload as
// data. Without a message type, bridge has no words for the acts that are not in the table above:
// they are refused to their senders.
//
// A notification with the event_type cancel withdraws the request that its correlation_id names
// (CANCEL). It may overtake the request, which is then answered with an error and not served. A
// CANCEL of an ended request has no effect.
//
// Members of the payload that are extensions: task_description of a request; task_status
// (partial_success), summary and artifacts of a response; topics, ontologies and tool_details of a
// handshake. tool_details has the description, input_schema and output_schema of tools, by their
// names.
//
// # Sessions
//
// [Dialect] adds what a connection needs. On the end that accepted the connection, each agent of
// the peer shakes hands before it sends anything else; a message before that is refused with
// UNAUTHORIZED, and the session goes on. The end that opened the connection shakes hands for its
// agents by itself. A handshake with tools announces the peer as an agent that has them.
//
// A request gets one answer: a response or an error. TASK_ACCEPT and AGREE are not written. When
// the sender withdraws its request, the answer is the result that was there before, or
// EXECUTION_FAILED with the reason canceled. When this end withdraws a request of its own, an error
// of the peer is the receipt. A request of this end that is repeated while it is under way is not
// written again.
//
// After a response with the task_status partial_success, which asks for more input, the next
// request whose correlation_id names the first one continues its conversation. Any other
// correlation_id of a request is the peer's own.
//
// The announced extensions of the specification are agreed in the handshake: streamed progress,
// compression of large payloads, routing over several nodes, acknowledgements, batches and
// encryption. docs/bridge-extensions.md has their formats.
//
// # Lossless round trip
//
// Decoding and then encoding a message gives every member, known or not, with the same JSON value:
// big numbers keep their digits, and nulls and explicit defaults stay. Timestamps are written as
// RFC 3339 in UTC. Unknown members of the envelope are the Metadata of the message, those of the
// payload its Extra. The form of the message stays on this node, in its Shape.
//
// # Limits
//
// A message may have [wire.CodecOptions].MaxBytes bytes, nest 128 levels deep and have 1,024
// unknown members in each object. It must be valid UTF-8. No name may come twice in the envelope;
// in a payload the last member of a name counts, as in encoding/json. A session has
// [wire.CodecOptions].MaxPending requests without an answer in each direction, and refuses further
// ones as busy.
package bridge
