// Package acl writes and reads the JSON of the Multi-Agent Communication Protocol
// that Eddy and Jules speak (acl): one [performatives.Message] is one JSON object.
//
// # Styles
//
// Peers write the envelope in two ways, [Spec] and [IDE]; a sender that is a plain
// string tells them apart. A session reads both and answers in the one it was
// addressed in:
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
// In the style IDE an envelope needs no message_id, and the answer to a message may
// leave out in_reply_to: it then answers whatever opened the conversation. The
// payload of a TASK_REQUEST without a task_type is the task's parameters, and the
// last segment of the ontology its type.
//
// # What survives
//
// Decode then encode gives back every member, known or not, with the same JSON
// value: big numbers keep their digits, and nulls, empty strings and explicit
// defaults stay. Two things are written in one way only, as addenda §1 and §2 say:
// timestamps as RFC 3339 in UTC, and task_status in lower case.
//
// What a peer told us goes into the message and survives a trip through the swarm:
// unknown members of the envelope, those of sender and receiver (as an object of
// that name), and an mcp_version other than [Version] are in its Metadata, those of
// the payload in the payload. How it was written (strings for agents, nulls, a
// synonym for the act, the text of the payload) is in the message's Shape, which
// stays on this node.
//
// # Priority
//
// The priority of a message is its payload.priority: low, medium, normal, high or
// urgent in any case, or 1 to 5. It is written there when it isn't Normal and the
// payload doesn't say so itself. In a TASK_REQUEST an unreadable one is refused; in
// any other act it is the application's own business.
//
// # Limits
//
// A message may have [Options].MaxBytes bytes, nest [Options].MaxDepth deep and
// have 1,024 unknown members. It must be valid UTF-8, and no name may come twice in
// the envelope or as an agent's agent_id: two readers could understand it in two
// ways. In a payload the last member of a name counts, as in encoding/json.
package acl
