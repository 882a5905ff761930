// Package gateway speaks the Wire Protocol (wire, with §1, §2 and §5 of the addenda): an
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
// source, timestamp and mcp_payload are required. source is the agent that speaks; with
// authentication it must be one that the credentials cover. id may be a string, a number,
// null, or missing. A timestamp may be any ISO 8601 date and time of day; without a zone
// it is UTC. auth_token may leave the word Bearer out. In metadata, timeout_ms (a deadline, in milliseconds from its arrival; five minutes
// without it) and priority (low, medium, normal, high, urgent or 1 to 5) mean something
// here; all other members reach the agent and are written again.
//
// What the node writes has a timestamp in UTC with milliseconds, as source the agent that
// speaks, or the node itself, and in an answer the request's id as correlation_id, as
// text. Match answers by mcp_payload.id: it is what you sent, to the digit, whether a
// string, a number or null, and answers come in any order.
//
// # Requests
//
// To whom a request goes is its namespace: target_namespace, else system for initialize
// and tools/*, else ns for ns.method ([Namespace]).
//
//	initialize   which version, and who you are. It may be left out.
//	ping         answered with {}
//	tools/list   the tools of the namespace: the actions of its agents, with their
//	             schemas, all on one page. Of several agents, _meta.agent says whose a
//	             tool is
//	tools/call   {name, arguments}: a task of the type name. The result is MCP's
//	             {content, structuredContent, isError}, with task_status (success,
//	             partial_success or failure) and artifacts
//	ns.method    a task of the type method, with params as its parameters. The result
//	             is the task's details as they are; or an object with task_status,
//	             summary and details where there are none, or the answer is failure
//
// Any other method is answered with -32601. Progress of tools/call and ns.method comes as
// notifications/progress when params._meta.progressToken is given; progress is then a
// percentage, and total 100 where it is known.
// To give a request up, send notifications/cancelled {requestId, reason} with the source
// of the request; it gets no answer then, as MCP asks, unless that is on its way already.
// Any other notification, save notifications/initialized, is an INFORM for its namespace.
//
// A batch is an array of messages in one envelope. Its answers come together in one
// array, in the order of the requests, once the last is there; one that was cancelled is
// left out, and when none is left nothing comes. initialize cannot be part of one.
//
// # Errors
//
// An answer that is an error says so twice: as wire's error object beside the payload,
// and as the error of JSON-RPC in it. A batch has only the latter.
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
// ([performatives.Code]), data.field what was wrong, and data.limit, data.window and
// data.retry_after (seconds) belong to a rate limit. What cannot be read has the id null.
// An answer, and a notification, is never answered, whatever is wrong with it.
//
// # Versions and compression
//
// initialize names the version that you prefer, protocolVersion, and all that you know,
// supportedVersions. The answer has yours if it is known here, else the newest in common:
// 1.0 and 1.1 of this protocol, and MCP's own dates, whose clients get the capabilities
// as MCP writes them; the newest of those answers a date that is unknown. Without one in
// common the answer is -32602 with data.supported. Where capabilities.compression of the
// request has gzip and so does that of the answer, both ends of a TCP connection use
// compressed frames from the frame after the answer on, and for good; a WebSocket never
// agrees.
//
// # As a provider of tools
//
// A peer that offers tools is announced as an agent by the name of its source. Say so in
// initialize: capabilities.tools as an array of {name, description, inputSchema,
// outputSchema}, or true or an object; then the node asks with tools/list and takes the
// tools from the answer, {"tools": […]}. While an answer has a nextCursor, the node asks
// for the page after it, with params.cursor; it takes what has come once a page is an
// error. What you know about beyond your tools may stand in capabilities.topics, an array
// of names. From then on requests come, with ids of the node's own and whoever asks as
// source:
//
//	{"id": "…", "timestamp": "…", "source": "Eddy", "target_namespace": "my-client",
//	 "metadata": {"timeout_ms": 29990},
//	 "mcp_payload": {"jsonrpc": "2.0", "method": "tools/call", "id": 7,
//	   "params": {"name": "add", "arguments": {…}, "_meta": {"progressToken": 7}}}}
//
// Answer with result or error under the same id, in an envelope of your own; report
// progress, if you like, by notifications/progress with the token. A result without
// content is taken as the details as a whole; of content, the texts are the summary. The
// code of an error says whether the asker is told that you did not understand, that you
// do not take the task on, or that it failed.
//
// When notifications/cancelled names a request, stop it. If you answer it nevertheless,
// the asker learns from an error that the work has ended, or gets the result; if you do
// not, as MCP has it, nobody can say that it has stopped, and the asker stops waiting
// after a grace of its own. INFORM, CONFIRM and DISCONFIRM of an agent come as
// notifications by the name of the act: notifications/inform. For other acts there are no
// words, and their senders are told so.
//
// # In the swarm
//
// A request is a TASK_REQUEST, or for initialize and tools/list a QUERY_CAPABILITIES, in
// a conversation of its own: JSON-RPC ids repeat from peer to peer, so that the ids of
// messages are made here. The peer's stay with the pending request. What the peer wrote
// beside is in the message's metadata: members of metadata by their names, those of the
// envelope that no field stands for after "envelope." (so envelope.correlation_id), those
// of the JSON-RPC message after "mcp_payload.". The token is nowhere but in
// [wire.Inbound].Token, and members called like a credential are not kept. A
// QUERY_CAPABILITIES has Capabilities when it is an initialize, and only then: actions
// where the peer lists its tools, and what else it offers, such as "tools": true, in
// Extra. Its answer should have the schemas of the actions.
//
// A message that answers a request finds it by its conversation. The end that opened the
// connection (a client of ours) writes a QUERY_CAPABILITIES with Capabilities as
// initialize.
//
// What wire has no place for is not carried: reply_with, ontology, protocol, budget and
// trace. A partial result ends the exchange, like any other: JSON-RPC answers once. An
// agent that asked for more by it gets none, and waits until the deadline.
//
// # Limits
//
// A frame may have [wire.CodecOptions].MaxBytes bytes, nest [Options].MaxDepth deep, and
// have 1,024 unknown members in each place; a batch [Options].MaxBatch messages. It must
// be valid UTF-8, and no member of the envelope or of the JSON-RPC message may come
// twice. In params the last member of a name counts, as in encoding/json. Requests under
// way are bounded each way by MaxPending; more are refused as busy. Of ours, those whose
// deadline has passed, and the oldest that were cancelled, make room first. Answers that
// wait for the rest of their batches take at most two frames' bytes together; what is
// over that becomes an error. A list of tools is read to its 100th page or 10,000th tool;
// its pages may come until its deadline, and those of all lists take at most a frame's
// bytes while they wait. A list that is longer is cut off, and has the member nextCursor.
package gateway
