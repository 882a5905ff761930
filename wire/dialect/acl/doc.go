// Package acl writes and reads the JSON of the Multi-Agent Communication Protocol
// that Eddy and Jules speak (acl): one [performatives.Message] is one JSON object.
//
// # Styles
//
// Peers write the envelope in two styles, [Spec] and [IDE]. An envelope whose sender is a
// plain string has the style IDE. A session reads both styles, and answers in the style
// of the last message it read:
//
//	m, err := codec.Decode(frame)   // err: a *DecodeError, which makes the NOT_UNDERSTOOD
//	style := acl.StyleOf(m)
//	…
//	frame, err = codec.AppendAs(frame[:0], reply, style)
//
// The names ACCEPT, REJECT and NOTIFY stand for TASK_ACCEPT, TASK_REJECT and INFORM
// in either style. REQUEST stands for TASK_REQUEST in the style IDE, and for FIPA's
// act in a full envelope; FIPA's act is therefore always written in a full envelope.
//
// In the style IDE the receiver * is the first agent that has the action of the ontology, or all
// agents for what expects no reply (addenda §9). An envelope needs no message_id. An answer may
// leave out in_reply_to: it then answers the message that opened the conversation. The payload of a
// TASK_REQUEST without a task_type is the parameters of the task, and the last segment of the
// ontology is its type.
//
// A receiver {"group": "Python"} is read as the agent_id group:Python, for which all agents with
// that topic or action are asked in turn (addenda §9). It is written with both members.
//
// # Message types
//
// An application's message type is the extension member message_type beside the
// performative, in both styles (addenda §8). The payload of such a message is the
// application's own, so that it needs none of the members that acl asks of the act.
//
// # Lossless round trip
//
// Decoding and then encoding a message gives every member, known or not, with the same
// JSON value: big numbers keep their digits, and nulls, empty strings and explicit
// defaults stay. There are two exceptions (addenda §1, §2): timestamps are written as
// RFC 3339 in UTC, and task_status in lower case.
//
// The content of a peer's message travels through the swarm with it. Its Metadata has
// the unknown members of the envelope, those of sender and receiver (as an object of
// that name), and an mcp_version other than [Version]. Its Payload has the unknown
// members of the payload. The form of the message stays on this node, in its Shape:
// strings for agents, nulls, a synonym for the act, the text of the payload.
//
// # Priority
//
// The priority of a message is its payload.priority: low, medium, normal, high or
// urgent in any case, or 1 to 5. The encoder adds it to the payload when it isn't Normal
// and the payload has another. In a TASK_REQUEST without a message type, an unreadable
// priority is refused; in any other message it is a member of the application.
//
// # Failures
//
// A message that says no is written like any other: its payload is the JSON of package
// performatives, with our codes. A frame that is not served is answered by a message, see
// [wire.RefusalOf].
//
// # Limits
//
// A message may have [wire.CodecOptions].MaxBytes bytes, nest 128 levels deep and
// have 1,024 unknown members. It must be valid UTF-8. No name may come twice in the
// envelope or in an agent, since two readers could choose different values. In a payload
// the last member of a name counts, as in encoding/json.
package acl
