// Package gateway speaks the Wire Protocol (wire, with §1, §2, §5 and §9 of the addenda): an
// envelope of JSON whose mcp_payload is a message of JSON-RPC 2.0 in the words of the
// Model Context Protocol. It is the dialect of gateways, of command lines, and of
// programs in other languages that call agents as tools or offer tools to agents.
//
// # The envelope
//
// Each frame is one object. As a client writes it:
//
//	{"id": "550e8400-…", "timestamp": "2024-01-15T10:30:45.123Z", "source": "my-client",
//	 "target_namespace": "Jules", "auth_token": "Bearer eyJ0…", "correlation_id": "trace-7",
//	 "metadata": {"timeout_ms": 30000, "priority": "high"},
//	 "mcp_payload": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {…}}}
//
// id, source, timestamp and mcp_payload are required. source is a label of the client, which others
// may use, too: each connection is a client of its own. For a peer that offers tools or topics it
// is the name of the agent; with authentication, the credentials must cover that. id is a string, a
// number or null (addenda §7). A timestamp may be any ISO 8601 date and time of day; without a zone
// it is UTC. auth_token may leave the word Bearer out. In metadata, timeout_ms is a deadline, in
// milliseconds from the arrival (default: five minutes), and priority is low, medium, normal, high,
// urgent or 1 to 5. All other members reach the agent and are written again.
//
// The node writes the timestamp in UTC with milliseconds. source is the sending agent, or
// the node itself. In an answer, correlation_id is the id of the request, as text. Match
// answers by mcp_payload.id: it is equal to yours to the digit, whether a string, a number
// or null. Answers come in any order.
//
// # Without envelopes
//
// A session whose first frame is JSON-RPC with the member jsonrpc, and without mcp_payload, is one
// of the Model Context Protocol (addenda §9): answers, progress and notifications come without
// envelopes, too. The source of its messages is clientInfo.name, or mcp-client. It has no target
// namespace, no deadline and no token of its own, and all tools have an inputSchema. A JSON-RPC id
// may be used again after its answer.
//
// # Requests
//
// The receiver of a request is its namespace: target_namespace, else system for initialize
// and tools/*, else ns for ns.method ([Namespace]).
//
//	initialize   your protocol versions, your name and your tools. It may be left out.
//	ping         answered with {}
//	tools/list   the tools of the namespace: the actions of its agents, with their
//	             schemas, all on one page. Of several agents, _meta.agent says whose a
//	             tool is, and a tool that more than one has is AGENT.TOOL
//	tools/call   {name, arguments}: a task of the type name. The result is MCP's
//	             {content, structuredContent, isError}, with task_status (success,
//	             partial_success or failure) and artifacts
//	resources/list  the resources of the namespace's agents, all on one page
//	resources/read  {uri}: QUERY_REF to the agent, or to the first agent of the
//	             namespace that has the resource. The result is MCP's {contents}: a
//	             value with text or blob as it is, a text, or the JSON of any other
//	             value. An unknown resource is -32002
//	ns.method    a task of the type method, with params as its parameters; an array is
//	             the member params of them, since parameters are an object. The result
//	             is the task's details as they are; or an object with task_status,
//	             summary and details where there are none, or the answer is failure
//
// A tool of a namespace is called by its name, or as AGENT.TOOL. The name of a tool that several
// agents have is -32602, unless the namespace is one of them: the error names them. A tool of the
// very name wins over AGENT.TOOL, also for ns.method. A target_namespace that is neither an agent
// nor a namespace counts as system in initialize, tools/list and tools/call.
//
// A client of MCP that has asked tools/list gets notifications/tools/list_changed when its list has
// changed, once for the changes of a tenth of a second: its initialize was answered with a version
// of MCP, and listChanged.
//
// Any other method is answered with -32601. Progress of tools/call and ns.method comes as
// notifications/progress when params._meta.progressToken is given; progress is then a
// percentage, and total 100 where it is known.
// To withdraw a request, send notifications/cancelled {requestId, reason} with the source
// of the request. As MCP demands, the request then gets no answer, unless the answer has been
// sent before. Any other notification, except notifications/initialized, is an INFORM for its
// namespace.
//
// A batch is an array of messages in one envelope. Its answers come together in one array, in the
// order of the requests, after the last request has been answered. The array has no answers to
// cancelled requests; if all were cancelled, there is no array. initialize cannot be part of a
// batch.
//
// # Errors
//
// An error is in the answer twice: as the error object of the envelope, and as the JSON-RPC error
// in the payload. The answer to a batch has only the JSON-RPC errors. They are made in errors.go.
//
//	{…, "correlation_id": "req-002",
//	 "error": {"code": "SERVICE_UNAVAILABLE", "message": "the agent is busy"},
//	 "mcp_payload": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32004,
//	   "message": "the agent is busy", "data": {"reason_code": "busy"}}}}
//
// -32700 is no JSON, -32600 no envelope or no JSON-RPC, -32601 no such method or action,
// -32602 wrong parameters, -32603 a failure, -32000 too many messages, -32001 not
// authenticated, -32002 not allowed, -32003 no such agent or none that can do it, -32004
// busy, stopping, or too late. data.reason_code is the exact reason
// ([performatives.Code]), data.field the wrong member, data.retry_after_ms when a busy agent
// wants to be asked again, and data.limit, data.window and data.retry_after (seconds) belong
// to a rate limit. The answer to an unreadable message has the id null. Invalid answers and
// notifications get no answer.
//
// # Versions and compression
//
// initialize has your preferred version, protocolVersion, and all of your versions,
// supportedVersions. The answer has the preferred version if the node supports it, else
// the newest version in common. The node supports 1.0 and 1.1 of this protocol, and the
// dates of MCP, whose clients get the capabilities in the form of MCP. The newest of these
// dates answers an unknown date. Without a version in common the answer is -32602 with
// data.supported. If capabilities.compression has gzip in the request and in the answer,
// both ends of a TCP connection use compressed frames, beginning with the frame after the
// answer. A WebSocket never agrees to it.
//
// # As a provider of tools
//
// A peer that offers tools is announced as an agent under the name of its source. Offer
// them in initialize: capabilities.tools is an array of {name, description, inputSchema,
// outputSchema}. It may also be true or an object; then the node asks with tools/list, and
// reads the tools from the answer, {"tools": […]}. While an answer has a nextCursor, the
// node asks for the next page, with params.cursor. When a page is an error, it uses the
// pages before. capabilities.resources may be an array of {uri, name, description, mimeType},
// and resources/read {uri} asks for the contents of one. capabilities.topics may be an array of
// names of further topics. When the tools have changed, send notifications/tools/list_changed: the
// node then asks with tools/list. After initialize requests come, with ids of the node and the
// initiator as source:
//
//	{"id": "…", "timestamp": "…", "source": "Eddy", "target_namespace": "my-client",
//	 "metadata": {"timeout_ms": 29990},
//	 "mcp_payload": {"jsonrpc": "2.0", "method": "tools/call", "id": 7,
//	   "params": {"name": "add", "arguments": {…}, "_meta": {"progressToken": 7}}}}
//
// Answer with result or error under the same id, in an envelope of your own. You may report
// progress by notifications/progress with the token. A result without content is the
// details of the task; the texts of content are its summary. The code of an error decides
// the act that the initiator gets: NOT_UNDERSTOOD, TASK_REJECT or FAILURE.
//
// When notifications/cancelled names a request, stop its work. If you then answer it with
// an error, the initiator gets the receipt; if you answer it with a result, the initiator
// gets the result. MCP asks for no answer: then there is no receipt, and the initiator
// stops waiting when its grace period ends. INFORM, CONFIRM and DISCONFIRM of an agent come
// as notifications with the name of the act: notifications/inform. This protocol has no
// form for other acts: the node refuses them to their senders.
//
// # Message types
//
// A message with an application's message type (addenda §8) has the name of the type in
// _meta.message_type: of params for requests and notifications, of result for answers,
// and of error.data for refusals. Where the act is not the usual one, _meta.performative
// names it. The usual acts are TASK_REQUEST for a call; INFORM_RESULT for the result of a
// TASK_REQUEST and INFORM for that of a REQUEST; STATUS_UPDATE for progress.
//
// A TASK_REQUEST or REQUEST with a message type is a call of the tool of that name. The
// payload is the arguments. A peer may leave _meta out where the type is registered
// ([performatives.RegisterMessageType]): then the name of the tool, or the method of
// ns.method, tells it. A REQUEST without a message type has no place in this protocol.
//
// The payload of an answer is structuredContent for tools/call, and the result itself for
// ns.method. The payload of progress is intermediate_results, that of a refusal
// error.data.payload. A CANCEL keeps its reason and its message type only.
//
// # In the swarm
//
// A request is a TASK_REQUEST, or for initialize and tools/list a QUERY_CAPABILITIES, in a
// conversation of its own. The codec makes the ids of messages, because JSON-RPC ids repeat from
// peer to peer; it stores the peer's ids with the pending request. A call that comes again on its
// connection, from its source, with the same JSON-RPC id, namespace, method and params, has the
// same id of a message: it is a duplicate, which the agent answers with the result that it has
// stored or as ended, and never performs again. One that is under way has one answer; in a batch,
// the repetition is refused. An id of JSON-RPC with another content is another call, because
// clients use theirs again after the answer; but with the same id of the envelope, too, it is a
// conflict. Calls with the id null are never duplicates. The metadata of the message has the other
// members of the envelope: those of metadata under their names, further members of the envelope
// with the prefix "envelope." (such as envelope.correlation_id), and those of the JSON-RPC message
// with the prefix "mcp_payload.". The token is in [wire.Inbound].Token only, and members with the
// name of a credential are dropped. A QUERY_CAPABILITIES has Capabilities if and only if it is an
// initialize: the listed tools as actions, and further offers, such as "tools": true, in Extra. Its
// answer should have the schemas of the actions.
//
// The codec matches an answer to its request by the conversation. The end that opened the
// connection writes a QUERY_CAPABILITIES with Capabilities as initialize.
//
// The trace of a call is _meta.traceparent of its params, in both directions. wire has no place for
// reply_with, ontology, protocol and budget: they are not carried. A partial result ends the
// exchange, as any other result does, because a JSON-RPC request has one answer. An agent that
// asked for more input by it waits until the deadline.
//
// # Limits
//
// A frame may have [wire.CodecOptions].MaxBytes bytes, nest 128 levels deep, and
// have 1,024 unknown members in each place; a batch 1,024 messages. It must
// be valid UTF-8, and no member of the envelope or of the JSON-RPC message may come
// twice. In params the last member of a name counts, as in encoding/json. MaxPending bounds
// the pending requests of each end; further requests are refused as busy. When the node's
// own requests reach the bound, those with a passed deadline are dropped first, and the
// oldest cancelled ones. The answers in incomplete batches take at most the bytes of two
// frames together; further answers become errors. A list of tools is read up to its 100th
// page or 10,000th tool, and until its deadline. The pages of all incomplete lists take at
// most the bytes of one frame. A longer list is cut, and then has the member nextCursor.
package gateway
