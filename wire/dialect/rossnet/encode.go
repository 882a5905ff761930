package rossnet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// shape is the value of [performatives.Message.Shape] for this dialect: what the fields of the
// message do not tell of its form. It never leaves the node.
type shape struct {
	kind    string
	payload []byte
	value   any
	version string
	act     performatives.Performative
	typed   string
	had     exchange.Set[int] // the members of the header
	nulls   exchange.Set[int] // those of them that were null
	blank   []byte            // the task_metadata null or {}
	field   bool
	// correlation is as it came: the conversation of the message may have another name.
	correlation  string
	conversation performatives.ConversationID
}

// unread is the shape of a message that this dialect has not read.
var unread = &shape{version: Version, had: 1<<memID | 1<<memRecipient | 1<<memToken}

func (d *decoder) shape() *shape {
	s := &shape{
		kind: d.kind, payload: bytes.Clone(d.payload), value: d.out.Payload, version: jsonscan.Text(d.Values[memVersion]), act: d.out.Performative,
		typed: d.out.MessageType, field: d.field, correlation: d.correlation,
		conversation: cmp.Or(d.out.ConversationID, performatives.ConversationID(d.out.ID)),
	}
	s.had, s.nulls = d.Had()
	if v := d.Values[memTask]; len(rest(v)) == 0 {
		s.blank = bytes.Clone(v)
	}
	return s
}

// writer writes one message.
type writer struct {
	exchange.Writer
	codec    *codec
	theirs   bool                  // the reader writes the form of the field
	known    bool                  // it has written a message
	came     *shape                // nil = the message came in another dialect
	call     *call                 // the request of the peer that the message answers
	asked    *call                 // the request to the peer that the message belongs to, such as its CANCEL
	ofCancel bool                  // the message answers the CANCEL of call
	body     performatives.Members // of the payload, if Payload is not the whole of it
	header   performatives.Members // its further members
	top      performatives.Members
}

// Encode appends m as one frame. The error is a [*performatives.Refusal] where the dialect has no
// form for m.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Receiver() == "" {
		return dst, exchange.Broadcast(Name, m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{Writer: exchange.NewWriter(Name, m, dst), codec: c}
	w.came, _ = m.Shape().(*shape)
	w.theirs, w.known = c.field[m.Receiver().Fold()]
	w.call = c.calls.Find("", m.InReplyTo())
	w.asked = c.asked.Find(m.Sender(), m.InReplyTo())
	w.ofCancel = w.call != nil && w.call.IsOfCancel(m.InReplyTo())
	if r := c.ahead.Check(m, w.asked != nil, c.now); r != nil {
		return dst, r
	}
	out, err := w.write()
	if err != nil {
		return dst, err
	}
	w.note()
	return out, nil
}

// write writes the envelope. Meanwhile the codec is not locked, because it asks an application's
// code for the payload and the token.
func (w *writer) write() ([]byte, error) {
	w.codec.mu.Unlock()
	defer w.codec.mu.Lock()
	w.collect()
	if w.content(); w.Err == nil {
		w.envelope()
	}
	return w.Finish()
}

// content finds the type and the payload.
func (w *writer) content() {
	if w.asItCame() {
		w.Kind, w.Payload = w.came.kind, w.came.payload
		return
	}
	switch act := w.Message.Performative(); {
	case w.Message.MessageType() != "":
		w.typed()
	case act == performatives.ActTaskRequest:
		w.assign()
	case act == performatives.ActTaskAccept:
		w.accept()
	case act == performatives.ActStatusUpdate:
		w.progress()
	case act == performatives.ActInformResult:
		w.result()
	case act == performatives.ActQueryCapabilities:
		w.query()
	case act == performatives.ActInformCapabilities && w.answers(kindRegister):
		w.Kind, w.body = kindAck, make(performatives.Members)
		w.set("status", "registered")
		w.set("agent_id", w.Message.Receiver())
	case act == performatives.ActQueryRef:
		w.find()
	case act == performatives.ActInformRef && w.answers(kindQuery):
		w.found()
	case act == performatives.ActCancel && w.asked != nil && w.asked.Subtask != "": // of a flow with several requests, the worker knows which
		w.Kind = act.String()
		w.members(w.Message.Payload())
		w.body["subtask_id"] = exchange.Quoted(w.asked.Subtask)
	case exchange.Refusals.Has(act):
		w.failure()
	default:
		w.Plain()
	}
	if w.body != nil {
		w.Payload = object(w.body)
	}
	if w.Err == nil && w.Message.MessageType() == "" && !isField(w.Kind, w.Payload) { // that form has no required members
		if bad := checkPayload(w.Kind, w.Payload); bad != nil {
			bad.About = w.Message.ID()
			w.Fail(bad)
		}
	}
}

// answers reports whether the message answers a request of that type.
func (w *writer) answers(kind string) bool { return w.call != nil && w.call.Kind == kind }

// asItCame reports whether the payload is written in the bytes in which it came. It must be
// unchanged, and must have the form that its reader expects.
func (w *writer) asItCame() bool {
	s, m := w.came, w.Message
	if s == nil || s.act != m.Performative() || s.typed != m.MessageType() || !reflect.DeepEqual(s.value, m.Payload()) {
		return false
	}
	if s.kind == kindAssign && s.typed == "" && w.known && !w.theirs && isField(s.kind, s.payload) {
		return false // its reader needs the members of the text
	}
	if x := w.call; x != nil && (x.Field || x.Kind == kindAssign) && s.typed == "" {
		return isField(s.kind, s.payload) == x.Field && (subtaskOf(s.kind, s.payload) == x.Subtask || x.Subtask == "")
	}
	return true
}

// typed writes an application's message type.
func (w *writer) typed() {
	w.Kind = w.Message.MessageType()
	act := w.Message.Performative()
	_, known := natural[w.Kind]
	registered, ok := w.codec.opts.Registry.MessageTypeAct(w.Kind)
	if known || ok && registered != act {
		w.Tell(exchange.MetaMessageType, w.Kind) // without it, the type would be read as the dialect's own
	}
	if known || registered != act {
		w.Tell(exchange.MetaAct, act.String())
	}
	w.Marshal(w.Message.Payload())
}

// members sets the payload, of which further members are changed.
func (w *writer) members(v any) {
	w.Marshal(v)
	w.body = membersIn(w.Payload)
}

// set sets a member of the payload.
func (w *writer) set(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.Fail(fmt.Errorf("rossnet: payload.%s: %w", name, err))
	}
	w.body[name] = text
}

// setContent sets a member of the payload that is an object; no content is an empty one.
func (w *writer) setContent(name string, c performatives.Content) {
	if w.body[name] = json.RawMessage("{}"); !c.IsZero() {
		w.set(name, c)
	}
}

// subtask sets the subtask_id of an answer to that of its request. One to a request without has the
// id of that.
func (w *writer) subtask() {
	x := cmp.Or(w.call, &call{})
	id := cmp.Or(x.Subtask, jsonscan.Text(w.body["subtask_id"]), string(x.ID), w.Message.InReplyTo(), string(w.Message.ID()))
	w.body["subtask_id"] = exchange.Quoted(id)
}

// assign writes a task.
func (w *writer) assign() {
	t := exchange.Content[performatives.TaskRequest](&w.Builder, w.Message)
	w.Kind = kindAssign
	if (w.theirs || !w.known) && t.Description == "" && w.assignInField(t) {
		return
	}
	w.members(performatives.TaskRequest{Extra: t.Extra})
	if p, err := performatives.ParsePriority(jsonscan.Text(w.body[exchange.MetaPriority])); err == nil && p == w.Message.Priority() {
		delete(w.body, exchange.MetaPriority) // it is in task_metadata
	}
	if jsonscan.Text(w.body["subtask_id"]) == "" {
		m := w.Message // two agents of this node may use one id
		w.set("subtask_id", uuidOf(exchange.Digest(nil, string(m.Sender().Fold()), string(m.Receiver().Fold()), string(m.ID()))))
	}
	w.set("task_name", t.TaskType)
	w.setContent("input_data", t.Parameters)
	if t.Description != "" {
		w.set("task_description", t.Description)
	}
	if by := w.Message.ReplyBy(); !by.IsZero() {
		if came, ok := isotime.Parse([]byte(jsonscan.Text(w.body["deadline"]))); !ok || !came.Equal(by) {
			w.set("deadline", exchange.FormatTime(by))
		}
	}
}

// assignInField writes a task in the form of the field, and reports whether it came in that form,
// so that it has one.
func (w *writer) assignInField(t performatives.TaskRequest) bool {
	w.MarshalContent(t.Parameters)
	if t.TaskType == taskUserRequest && len(t.Extra) == 0 {
		w.Kind = kindUserRequest
		return true
	}
	if t.TaskType != taskOfField && t.Extra["task_id"] == nil || rest(object(t.Extra), fieldMembers...) != nil {
		return false
	}
	w.body = membersIn(w.Payload)
	if t.TaskType != taskOfField {
		w.set("task_name", t.TaskType)
	}
	maps.Copy(w.body, t.Extra)
	raw := object(w.body)
	return isField(kindAssign, raw) && checkPayload(kindAssign, raw) == nil
}

// accept writes that a task is taken on.
func (w *writer) accept() {
	a := exchange.Content[performatives.TaskAccept](&w.Builder, w.Message)
	w.Kind = kindAcknowledge
	reason := a.Comments
	a.Comments = ""
	w.members(a)
	w.set("status", statusAccepted)
	if reason != "" {
		w.set("reason", reason)
	}
	w.subtask()
}

// progress writes a STATUS_UPDATE, with 0 for a progress that is not known.
func (w *writer) progress() {
	w.Kind = kindStatus
	w.members(w.Message.Payload())
	if w.body["progress_percentage"] == nil {
		w.set("progress_percentage", 0)
	}
	if jsonscan.Text(w.body["status_description"]) == "" {
		w.set("status_description", "")
	}
	w.subtask()
}

// result writes a result, in the form of the field where its request has that.
func (w *writer) result() {
	r := exchange.Content[performatives.InformResult](&w.Builder, w.Message)
	w.Kind = kindComplete
	details := r.Details
	r.Details = performatives.Content{}
	w.members(r)
	if x := w.call; x == nil || !x.Field {
		delete(w.body, "result")
		if r.Status == performatives.StatusSuccess {
			delete(w.body, "task_status")
		}
		w.setContent("output_data", details)
		w.subtask()
		return
	}
	for _, name := range []string{"output_data", "subtask_id", "task_status"} {
		delete(w.body, name)
	}
	w.set("status", statusComplete)
	if r.Status != performatives.StatusSuccess {
		w.set("status", "FAILED")
		w.set("task_status", r.Status)
	}
	w.set("agent_id", w.Message.Sender())
	for _, name := range []string{"workflow_id", "task_id"} {
		if v := jsonscan.Member(w.call.Payload, name); v != nil {
			w.body[name] = v
		}
	}
	w.setContent("result", details)
}

// note stores a request to the peer, and the end of one of the peer.
func (w *writer) note() {
	c, m := w.codec, w.Message
	act := m.Performative()
	switch {
	case act == performatives.ActCancel && w.asked != nil:
		c.asked.AddCancel(w.asked, m.ID(), exchange.ReferenceTo(m))
	case w.call != nil:
		c.calls.End(w.call, exchange.Final.Has(act), w.ofCancel)
	case startsWork(act):
		c.asked.add(&call{
			Request: exchange.RequestTo(m, w.Kind), Correlation: w.correlation(),
			Subtask: subtaskOf(w.Kind, w.Payload), Field: inField(w.Kind, w.Payload),
		})
	}
}

// correlation returns the correlation_id: that of the request for its answer. Empty means none.
func (w *writer) correlation() string {
	switch x, y := w.call, w.asked; {
	case x != nil:
		return cmp.Or(x.Correlation, string(x.ID))
	case y != nil:
		return y.Correlation
	case w.came != nil && w.came.conversation == w.Message.ConversationID():
		return w.came.correlation
	}
	return string(w.Message.ConversationID())
}

// envelope writes the members in the order of the specification.
func (w *writer) envelope() {
	w.Open(memHeader)
	as := cmp.Or(w.came, unread)
	field := w.theirs // the form is that of the reader, else that in which the message came
	if !w.known {
		field = as.field
	}
	if as.had.Has(memID) || w.known && !w.theirs {
		w.text(memID, string(w.Message.ID()))
	}
	w.OptionalText(headerNames[memCorrelation], w.correlation())
	w.text(memSender, string(w.Message.Sender()))
	w.recipient(field, as)
	w.text(memTimestamp, exchange.FormatTime(w.Message.Timestamp()))
	w.text(memVersion, as.version)
	w.text(memKind, w.Kind)
	switch token := w.codec.opts.Token; {
	case token != nil:
		w.text(memToken, token())
	case as.had.Has(memToken) && (!field || as != unread):
		w.null(memToken)
	}
	switch {
	case len(w.Meta) > 0:
		w.Checked(headerNames[memTask], object(w.Meta))
	case as.blank != nil:
		w.Checked(headerNames[memTask], as.blank)
	}
	w.Sorted(w.header)
	w.End()
	w.Checked(memPayload, w.Payload)
	w.Sorted(w.top)
}

func (w *writer) text(i int, s string) { w.Text(headerNames[i], s) }

func (w *writer) null(i int) { w.Raw(headerNames[i], []byte("null")) }

// recipient writes the recipient in the form of the text, or in that of the field with null for the
// unused member.
func (w *writer) recipient(field bool, as *shape) {
	to := string(w.Message.Receiver())
	if !field {
		w.text(memRecipient, to)
		return
	}
	service := w.Message.Receiver().Is(serviceRouter) || w.Message.Receiver().Is(serviceDiscovery)
	if as.field { // a service may be named in either member
		service = as.had.Has(memService) && !as.nulls.Has(memService)
	}
	used, unused := memAgent, memService
	if service {
		used, unused = memService, memAgent
	}
	w.text(used, to)
	for _, i := range [...]int{unused, memRecipient} {
		switch {
		case i == unused && !as.field, as.nulls.Has(i):
			w.null(i)
		case as.field && as.had.Has(i):
			w.text(i, to)
		}
	}
}
