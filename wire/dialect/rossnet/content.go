package rossnet

import (
	"bytes"
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Two values of task_type (addenda §9): of a TASK_ASSIGN of RossNet's own agents that names no
// task, and of a PROCESS_USER_REQUEST, which is a capability of these agents.
const (
	taskOfField     = "task_assign"
	taskUserRequest = "user_request_handling"
)

// fieldMembers are the members of a TASK_ASSIGN in the form of the field that are no input.
var fieldMembers = []string{"task_id", "task_name", "deadline", "required_capabilities"}

// inField reports whether a payload is a task in the form of the field.
func inField(kind string, payload []byte) bool {
	return kind == kindUserRequest || kind == kindAssign && isField(kind, payload)
}

// subtaskOf returns the subtask_id of a payload, in the form of the field the task_id.
func subtaskOf(kind string, payload []byte) string {
	if isField(kind, payload) {
		return jsonscan.Text(jsonscan.Member(payload, "task_id"))
	}
	return jsonscan.Text(jsonscan.Member(payload, "subtask_id"))
}

// The members of the extra of QUERY_CAPABILITIES and of capabilities that have the payload of
// DISCOVERY_REGISTER.
const extraRegistration = "agent_registration"

// referenceAgents is the reference of the QUERY_REF that a DISCOVERY_QUERY is: the list of the
// agents that the directory of the node has.
const referenceAgents = "agents"

// content decodes the act and the payload.
func (d *decoder) content() {
	d.act()
	p := d.payload
	if d.out.MessageType != "" {
		d.typed(p)
		return
	}
	d.Refuse(checkPayload(d.kind, p))
	switch d.kind {
	case kindAssign:
		d.assign(p)
	case kindUserRequest:
		d.out.Payload = performatives.TaskRequest{TaskType: taskUserRequest, Parameters: performatives.RawContent(bytes.Clone(p))}
	case kindAcknowledge:
		d.acknowledge(p)
	case kindComplete:
		d.complete(p)
	case kindFail, kindError:
		d.failure(p)
	case kindRegister:
		d.register(p)
	case kindQuery:
		d.out.Payload = performatives.QueryRef{Reference: referenceAgents, Extra: rest(p, "reference")}
	case kindResponse:
		d.out.Payload = performatives.InformRef{
			Reference: referenceAgents, Value: performatives.RawContent(bytes.Clone(jsonscan.Member(p, "results"))), Extra: rest(p, "reference", "value", "results"),
		}
	case kindAck:
		d.out.Payload = performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}, Extra: rest(p, "capabilities", "status")}
	case kindPing, kindPong:
	default:
		d.typed(p)
	}
}

// membersIn returns copies of the members of an object but those.
func membersIn(object []byte, without ...string) performatives.Members {
	m := make(performatives.Members)
	for name, v := range jsonscan.Members(object) {
		m[string(name)] = bytes.Clone(v)
	}
	for _, name := range without {
		delete(m, name)
	}
	return m
}

// rest is [membersIn], but nil for no members.
func rest(object []byte, without ...string) performatives.Members {
	if m := membersIn(object, without...); len(m) > 0 {
		return m
	}
	return nil
}

// typed reads the payload of a message type, and that of an act under its own name.
func (d *decoder) typed(payload []byte) {
	p, err := d.codec.opts.Registry.DecodeTyped(d.out.Performative, d.out.MessageType, "", bytes.Clone(payload))
	d.Refuse(renamed(err))
	d.out.Payload = p
}

// assign reads a task.
func (d *decoder) assign(p []byte) {
	if t, ok := isotime.Parse([]byte(jsonscan.Text(jsonscan.Member(p, "deadline")))); ok {
		d.out.ReplyBy = t
	}
	if isField(kindAssign, p) {
		t := performatives.TaskRequest{
			TaskType:   cmp.Or(jsonscan.Text(jsonscan.Member(p, "task_name")), taskOfField),
			Parameters: performatives.RawContent(object(rest(p, fieldMembers...))),
		}
		for _, name := range fieldMembers {
			if v := jsonscan.Member(p, name); name != "task_name" && !jsonscan.IsNone(v) {
				exchange.Keep(&t.Extra, name, v)
			}
		}
		d.out.Payload = t
		return
	}
	d.out.Payload = performatives.TaskRequest{
		TaskType: jsonscan.Text(jsonscan.Member(p, "task_name")), Description: jsonscan.Text(jsonscan.Member(p, "task_description")),
		Parameters: performatives.RawContent(bytes.Clone(jsonscan.Member(p, "input_data"))),
		Extra:      rest(p, "task_name", "task_description", "input_data", "task_type", "task_parameters"),
	}
}

// acknowledge reads whether a task is taken on. The reason may be the code of a rejection.
func (d *decoder) acknowledge(p []byte) {
	reason := jsonscan.Text(jsonscan.Member(p, "reason"))
	if d.out.Performative == performatives.ActTaskAccept {
		a := performatives.TaskAccept{}
		d.Refuse(renamed(a.UnmarshalJSON(object(rest(p, "status", "reason", "comments")))))
		a.Comments = reason
		d.out.Payload = a
		return
	}
	r := performatives.Refusal{Act: performatives.ActTaskReject, Code: d.code(p), Text: reason}
	if jsonscan.Text(jsonscan.Member(p, memberCode)) == codeRejected {
		r.Code = cmp.Or(performatives.Code(jsonscan.Text(jsonscan.Member(p, memberReason))), performatives.CodeBusy)
	}
	if r.Code == "" {
		if r.Code = performatives.CodeUnspecified; performatives.Code(reason).Known() {
			r.Code = performatives.Code(reason)
		}
	}
	extra := rest(p, "status", "reason", memberCode, "reason_code", "reason_text")
	r.RetryAfter = extra.TakeRetryAfter()
	d.out.Payload = r.Payload(extra)
}

const (
	memberCode    = "error_code"
	memberMessage = "error_message"
	memberReason  = "reason_code" // extension: the code, where error_code stands for several
)

// code reads a code. Another word than those of rossnet §7 stays as it is.
func (d *decoder) code(p []byte) performatives.Code {
	word, reason := jsonscan.Text(jsonscan.Member(p, memberCode)), jsonscan.Text(jsonscan.Member(p, memberReason))
	switch exact := performatives.Code(reason); {
	case word == codeDependency && ErrorCodes.Of(exact) != word:
		return dependencyFailed
	case word == ErrorCodes.Of(performatives.CodeForbidden) && exact == performatives.CodeUnauthorized:
		return exact //nolint:nilerr // a code of the peer's is what is read
	}
	return ErrorCodes.Read(word, reason)
}

// complete reads a result. In the form of the field, a status other than COMPLETED says that the
// answer is no.
func (d *decoder) complete(p []byte) {
	r := performatives.InformResult{}
	from, status := "output_data", performatives.StatusSuccess
	if isField(kindComplete, p) {
		from = "result"
		if !isOneOf(jsonscan.Member(p, "status"), statusComplete, "success") {
			status = performatives.StatusFailure
		}
	}
	d.Refuse(renamed(r.UnmarshalJSON(object(rest(p, from, "result_details")))))
	if r.Status == "" {
		r.Status = status
	}
	if v := jsonscan.Member(p, from); jsonscan.Is(v, '{') {
		r.Details = performatives.RawContent(bytes.Clone(v))
	}
	d.out.Payload = r
}

// failure reads TASK_FAIL and ERROR.
func (d *decoder) failure(p []byte) {
	code, text := d.code(p), jsonscan.Text(jsonscan.Member(p, memberMessage))
	extra := rest(p, memberCode, memberMessage, memberReason, "status", "error_text", "reason_text")
	r := performatives.Refusal{Act: d.out.Performative, Code: code, Text: text, RetryAfter: extra.TakeRetryAfter()}
	d.out.Payload = r.Payload(extra)
}

// register reads a registration. Its capabilities become actions. An INACTIVE agent has no actions,
// so that only a query for agents of any status finds it.
func (d *decoder) register(p []byte) {
	d.OwnID(p, d.out.Sender)
	c := performatives.Capabilities{Extra: performatives.Members{extraRegistration: bytes.Clone(p)}}
	for v := range jsonscan.Elements(jsonscan.Member(p, "capabilities")) {
		c.Actions = append(c.Actions, performatives.Action{
			Name: capabilityName(v), Description: jsonscan.Text(jsonscan.Member(v, "description")),
			InputSchema: exchange.Schema(jsonscan.Member(v, "input_schema")), OutputSchema: exchange.Schema(jsonscan.Member(v, "output_schema")),
		})
	}
	if isOneOf(jsonscan.Member(p, "status"), statusInactive) {
		c.Actions = nil
	}
	d.out.Payload = performatives.QueryCapabilities{
		Type: performatives.QuerySummary, Capabilities: &c, Extra: performatives.Members{extraRegistration: bytes.Clone(p)},
	}
}
