// Package rossnet speaks the message format of the RossNet Model Context Protocol (rossnet, with
// §1, §2, §4 and §7 to §9 of the addenda): one [performatives.Message] is one JSON object.
//
// # The envelope
//
//	{"mcp_header": {"message_id": "550e…", "correlation_id": "550f…", "sender_id": "Controller", "recipient_id": "Worker",
//	  "timestamp": "2025-01-30T10:30:00Z", "version": "1.0", "message_type": "TASK_ASSIGN", "auth_token": null,
//	  "task_metadata": {"task_id": null, "priority": 5}},
//	 "payload": {"subtask_id": "550a…", "task_name": "web_search", "input_data": {"q": "x"}}}
//
// Required are sender_id, a recipient, timestamp, version, message_type and an object as payload.
// Clients in the field write target_agent_id or target_service in place of recipient_id, and no
// message_id; they get their own form back. A correlation_id is text or absent; null counts as
// absent, and is not written. Decoding and then encoding a message within a node gives all other
// members with the same JSON value; timestamps are written as RFC 3339 in UTC. A version of another
// major is refused with E003.
//
// # Types
//
//	TASK_ASSIGN                TASK_REQUEST: task_name is its task_type, input_data its parameters, deadline its reply_by
//	TASK_ACKNOWLEDGE           TASK_ACCEPT or TASK_REJECT by the status
//	STATUS_UPDATE              STATUS_UPDATE
//	TASK_COMPLETE              INFORM_RESULT; output_data has its details
//	TASK_FAIL, ERROR           FAILURE; other acts that say no are named by task_metadata.performative
//	DISCOVERY_REGISTER, _ACK   QUERY_CAPABILITIES with the sender's own, and its answer
//	DISCOVERY_QUERY, _RESPONSE QUERY_REF of the reference agents, and its answer
//	PING, PONG                 answered by the codec
//	CANCEL, INFORM, … (each act)  the act of that name, with its payload
//	a registered message type  its act ([performatives.RegisterMessageType])
//	any other type             the act that task_metadata.performative names; without that, E003
//
// A TASK_ASSIGN of the field has neither subtask_id nor input_data (addenda §9): its task_id is the
// id of the subtask within its workflow, task_name the task (task_assign without one), and all
// other members but deadline and required_capabilities are its parameters. A TASK_COMPLETE of the
// field has status and result instead of subtask_id and output_data. A PROCESS_USER_REQUEST is the
// task user_request_handling with the payload as its parameters; without a recipient it is for
// MCP_ROUTER.
//
// The optional members of task_metadata are protocol, trace (W3C traceparent), budget, performative
// and message_type. In the message, members of task_metadata have their names, and unknown members
// of the header and the envelope a prefix, "header." and "envelope.".
//
// # Answers
//
// An answer belongs to the request with its subtask_id, else to the oldest one with its
// correlation_id. An ERROR that comes while a CANCEL is open answers that. While a request is open,
// a further one of its sender to the same agent with the same correlation_id has a conversation of
// its own, so that many can be under way.
//
// What MCP_ROUTER has passed on to an agent is answered as from MCP_ROUTER, with the id of the
// agent as handled_by in task_metadata.
//
// # Refusals
//
// A TASK_ASSIGN that was read, and is refused, is answered by TASK_FAIL; whatever else by ERROR.
// Both have the codes of rossnet §7, and the members field, message_id and details as extensions.
// Where a code of §7 stands for several, reason_code names the one. A TASK_ACKNOWLEDGE that rejects
// a task always has E009, and nothing else has. retry_after_ms says when a busy agent wants to be
// asked again. ERROR and PONG are not answered, nor is a TASK_FAIL that was read. They are written
// in failure.go, with the words of [ErrorCodes].
//
// # Limits
//
// A frame may have [wire.CodecOptions].MaxBytes bytes, nest 128 levels deep, and have 1,024
// members in each of envelope, header and task_metadata. It must be valid UTF-8. No member of these
// may come twice; in a payload the last one counts. MaxPending bounds the open requests in each
// direction: at the bound, the oldest is dropped.
package rossnet
