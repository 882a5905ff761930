package rossnet

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

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
	nulls   map[string]bool // known members of the header that were null
	absent  map[string]bool // and those that were absent
	blank   []byte          // the task_metadata null or {}
	field   bool
	// correlation is as it came: the conversation of the message may have another name.
	correlation  string
	conversation performatives.ConversationID
}

func (d *decoder) shape() *shape {
	s := &shape{
		kind: d.kind, payload: bytes.Clone(d.in.payload), value: d.out.Payload, version: jsonscan.Text(d.in.header[memVersion]), act: d.out.Performative,
		typed: d.out.MessageType, nulls: make(map[string]bool), absent: make(map[string]bool), field: d.field, correlation: d.correlation,
		conversation: d.out.ConversationID,
	}
	if s.conversation == "" {
		s.conversation = performatives.ConversationID(d.out.ID)
	}
	for _, name := range headerNames {
		switch v := d.in.header[name]; {
		case v == nil:
			s.absent[name] = true
		case jsonscan.IsNull(v):
			s.nulls[name] = true
		}
	}
	if v := d.in.header[memTask]; jsonscan.IsNull(v) || jsonscan.Is(v, '{') && len(rest(v)) == 0 {
		s.blank = bytes.Clone(v)
	}
	return s
}

// writer writes one message.
type writer struct {
	jsonscan.Builder
	codec  *codec
	m      *performatives.Message
	theirs bool   // the reader writes the form of the field
	known  bool   // it has written a message
	came   *shape // nil = the message came in another dialect
	call   *call  // the request of the peer that the message answers
	asked  *call  // the request to the peer that the message belongs to, such as its CANCEL
	kind   string
	body   performatives.Members // of the payload; nil = payload has it
	raw    []byte
	meta   performatives.Members
	header performatives.Members // its further members
	top    performatives.Members
}

// Encode appends m as one frame. The error is a [*performatives.Refusal] where the dialect has no
// form for m.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Receiver() == "" {
		return dst, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "receiver", Text: "receiver: want an agent: rossnet has no broadcast",
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := writer{Builder: exchange.Begin(dst, c.depth), codec: c, m: m}
	w.came, _ = m.Shape().(*shape)
	w.theirs, w.known = c.field[m.Receiver().Fold()]
	w.call = c.calls.Find("", m.InReplyTo())
	w.asked = c.asked.Find(m.Sender(), m.InReplyTo())
	if r := c.ahead.Check(m, w.call != nil || w.asked != nil, c.now); r != nil {
		return dst, r
	}
	w.collect()
	if w.content(); w.Err == nil {
		w.envelope()
	}
	out, err := exchange.Finish(Name, &w.Builder, len(dst))
	if err != nil {
		return dst, err
	}
	w.note()
	return out, nil
}

// content finds the type and the payload.
func (w *writer) content() {
	if w.asItCame() {
		w.kind, w.raw = w.came.kind, w.came.payload
		return
	}
	switch act := w.m.Performative(); {
	case w.m.MessageType() != "":
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
	case act == performatives.ActInformCapabilities:
		w.capabilities()
	case act == performatives.ActQueryRef:
		w.find()
	case act == performatives.ActInformRef:
		w.found()
	case act == performatives.ActCancel:
		w.withdraw()
	case exchange.IsRefusal(act):
		w.failure()
	default:
		w.plain()
	}
	if w.body != nil {
		w.raw = object(w.body)
	}
	if w.Err == nil && w.m.MessageType() == "" && !w.fieldForm() {
		if bad := checkPayload(w.kind, w.raw); bad != nil {
			bad.About = w.m.ID()
			w.Fail(bad)
		}
	}
}

// asItCame reports whether the payload is written in the bytes in which it came. It must be
// unchanged, and must have the form that its reader expects.
func (w *writer) asItCame() bool {
	s, m := w.came, w.m
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

// fieldForm reports whether the payload is written in the form of the field, which has no required
// members.
func (w *writer) fieldForm() bool { return isField(w.kind, w.raw) }

// typed writes an application's message type.
func (w *writer) typed() {
	w.kind = w.m.MessageType()
	act := w.m.Performative()
	_, known := natural[w.kind]
	_, noAct := performatives.ParsePerformative(w.kind)
	registered, ok := w.codec.opts.Registry.MessageTypeAct(w.kind)
	if known || noAct == nil || ok && registered != act {
		w.tell(exchange.MetaMessageType, w.kind) // without it, the type would be read as the dialect's own
	}
	if known || !ok || registered != act {
		w.tell(exchange.MetaAct, act.String())
	}
	w.marshal(w.m.Payload())
}

// plain writes an act under its own name.
func (w *writer) plain() {
	w.kind = w.m.Performative().String()
	w.marshal(w.m.Payload())
}

// withdraw writes a CANCEL. The subtask_id in its payload tells the worker which of the requests of
// a flow it is about.
func (w *writer) withdraw() {
	if w.asked == nil || w.asked.Subtask == "" {
		w.plain()
		return
	}
	w.kind = w.m.Performative().String()
	w.members(w.m.Payload())
	w.body["subtask_id"] = exchange.Quoted(w.asked.Subtask)
}

// marshal sets the payload, which must be an object.
func (w *writer) marshal(v any) {
	text, err := exchange.Object(Name, v)
	w.Fail(err)
	w.raw = text
}

// members sets the payload, of which further members are changed.
func (w *writer) members(v any) {
	w.marshal(v)
	if w.body = rest(w.raw); w.body == nil {
		w.body = make(performatives.Members)
	}
}

// set sets a member of the payload.
func (w *writer) set(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		w.Fail(fmt.Errorf("rossnet: payload.%s: %w", name, err))
		return
	}
	w.body[name] = text
}

// subtask sets the subtask_id of an answer to that of its request. One to a request without has the
// id of that.
func (w *writer) subtask() {
	switch {
	case w.call != nil && w.call.Subtask != "":
		w.body["subtask_id"] = exchange.Quoted(w.call.Subtask)
	case jsonscan.Text(w.body["subtask_id"]) != "":
	case w.call != nil:
		w.body["subtask_id"] = exchange.Quoted(string(w.call.ID))
	case w.m.InReplyTo() != "":
		w.body["subtask_id"] = exchange.Quoted(w.m.InReplyTo())
	default:
		w.body["subtask_id"] = exchange.Quoted(uuidFor(w.m.ID()))
	}
}

// uuidFor returns the id if it is a UUID, else one that is made of it.
func uuidFor(id performatives.MessageID) string {
	if s := string(id); len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		return s
	}
	sum := sha256.Sum256([]byte(id))
	return uuidOf(sum[:])
}

// newSubtask returns the subtask_id of a task that has none: one that is made of its id and, where
// another agent has asked the peer by the same id, of its sender. A copy has that of the first.
func (w *writer) newSubtask() string {
	asked, m := &w.codec.asked, w.m
	if x := asked.Find(m.Sender(), string(m.ID())); x != nil && x.ID == m.ID() && x.Agent == m.Receiver().Fold() && x.Subtask != "" {
		return x.Subtask
	}
	id := uuidFor(m.ID())
	if x := asked.subtasks[flow{m.Receiver().Fold(), id}]; x != nil && !x.Other.Is(m.Sender()) {
		id = uuidFor(performatives.MessageID(m.Sender().Fold()) + "/" + m.ID())
	}
	return id
}

// formatTime writes a time as the specification does.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// assign writes a task.
func (w *writer) assign() {
	t, err := performatives.PayloadAs[performatives.TaskRequest](w.m)
	if err != nil {
		w.Fail(err)
		return
	}
	w.kind = kindAssign
	if (w.theirs || !w.known) && t.Description == "" && w.assignInField(t) {
		return
	}
	w.members(performatives.TaskRequest{Extra: t.Extra})
	delete(w.body, "task_type")
	if p, err := performatives.ParsePriority(jsonscan.Text(w.body[exchange.MetaPriority])); err == nil && p == w.m.Priority() {
		delete(w.body, exchange.MetaPriority) // it is in task_metadata
	}
	if jsonscan.Text(w.body["subtask_id"]) == "" {
		w.set("subtask_id", w.newSubtask())
	}
	w.set("task_name", t.TaskType)
	w.body["input_data"] = json.RawMessage("{}")
	if !t.Parameters.IsZero() {
		w.set("input_data", t.Parameters)
	}
	if t.Description != "" {
		w.set("task_description", t.Description)
	}
	if by := w.m.ReplyBy(); !by.IsZero() {
		if came, ok := isotime.Parse([]byte(jsonscan.Text(w.body["deadline"]))); !ok || !came.Equal(by) {
			w.set("deadline", formatTime(by))
		}
	}
}

// assignInField writes a task in the form of the field, and reports whether it came in that form, so
// that it has one.
func (w *writer) assignInField(t performatives.TaskRequest) bool {
	if w.raw = []byte("{}"); !t.Parameters.IsZero() {
		w.marshal(t.Parameters)
	}
	if t.TaskType == taskUserRequest && len(t.Extra) == 0 {
		w.kind = kindUserRequest
		return true
	}
	if t.TaskType != taskOfField && t.Extra["task_id"] == nil || rest(object(t.Extra), fieldMembers...) != nil {
		return false
	}
	if w.body = rest(w.raw); w.body == nil {
		w.body = make(performatives.Members)
	}
	if t.TaskType != taskOfField {
		w.set("task_name", t.TaskType)
	}
	maps.Copy(w.body, t.Extra)
	if raw := object(w.body); isField(kindAssign, raw) && checkPayload(kindAssign, raw) == nil {
		return true
	}
	w.body = nil
	return false
}

// accept writes that a task is taken on.
func (w *writer) accept() {
	a, err := performatives.PayloadAs[performatives.TaskAccept](w.m)
	if err != nil {
		w.Fail(err)
		return
	}
	w.kind = kindAcknowledge
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
	w.kind = kindStatus
	w.members(w.m.Payload())
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
	r, err := performatives.PayloadAs[performatives.InformResult](w.m)
	if err != nil {
		w.Fail(err)
		return
	}
	w.kind = kindComplete
	details := r.Details
	r.Details = performatives.Content{}
	w.members(r)
	if x := w.call; x != nil && x.Field {
		w.resultOfField(r, details)
		return
	}
	delete(w.body, "result")
	delete(w.body, "output_data")
	if r.Status == performatives.StatusSuccess {
		delete(w.body, "task_status")
	}
	w.body["output_data"] = json.RawMessage("{}")
	if !details.IsZero() {
		w.set("output_data", details)
	}
	w.subtask()
}

func (w *writer) resultOfField(r performatives.InformResult, details performatives.Content) {
	for _, name := range []string{"output_data", "subtask_id", "task_status"} {
		delete(w.body, name)
	}
	w.set("status", statusComplete)
	if r.Status != performatives.StatusSuccess {
		w.set("status", "FAILED")
		w.set("task_status", r.Status)
	}
	w.set("agent_id", w.m.Sender())
	for _, name := range []string{"workflow_id", "task_id"} {
		if v := jsonscan.Member(w.call.Payload, name); v != nil {
			w.body[name] = v
		}
	}
	w.body["result"] = json.RawMessage("{}")
	if !details.IsZero() {
		w.set("result", details)
	}
}

// note stores a request to the peer, and the end of one of the peer.
func (w *writer) note() {
	c, m := w.codec, w.m
	act := m.Performative()
	switch {
	case act == performatives.ActCancel && w.asked != nil:
		c.asked.AddCancel(w.asked, m.ID(), exchange.ReferenceTo(m))
	case w.call != nil:
		c.calls.End(w.call, isFinal(act), w.call.IsOfCancel(m.InReplyTo()))
	case startsWork(act):
		c.asked.add(&call{
			Request: exchange.RequestTo(m, w.kind), Other: m.Sender().Fold(), Correlation: w.correlation(),
			Subtask: subtaskOf(w.kind, w.raw), Field: inField(w.kind, w.raw),
		})
	}
}

// correlation returns the correlation_id: that of the request for its answer. Empty means none.
func (w *writer) correlation() string {
	switch x, y := w.call, w.asked; {
	case x != nil && !x.NoCorrelation:
		return x.Correlation
	case x != nil:
		return string(x.ID)
	case y != nil:
		return y.Correlation
	case w.came != nil && w.came.conversation == w.m.ConversationID():
		return w.came.correlation
	}
	return string(w.m.ConversationID())
}

// field reports whether the envelope is written in the form of the field: that of its reader, else
// that in which it came.
func (w *writer) field() bool {
	if w.known {
		return w.theirs
	}
	return w.came != nil && w.came.field
}

// envelope writes the members in the order of the specification.
func (w *writer) envelope() {
	w.Open(memHeader)
	as := w.came
	if as == nil {
		as = &shape{absent: map[string]bool{memAgent: true, memService: true}, nulls: map[string]bool{memToken: true}}
		as.absent[memTask] = len(w.meta) == 0
	}
	field := w.field()
	if !as.absent[memID] || w.known && !w.theirs {
		w.Text(memID, string(w.m.ID()))
	}
	if s := w.correlation(); s != "" {
		w.Text(memCorrelation, s)
	}
	w.Text(memSender, string(w.m.Sender()))
	w.recipient(field, as)
	w.Text(memTimestamp, formatTime(w.m.Timestamp()))
	version := as.version
	if version == "" {
		version = Version
	}
	w.Text(memVersion, version)
	w.Text(memKind, w.kind)
	switch token := w.codec.opts.Token; {
	case token != nil:
		w.Text(memToken, token())
	case !as.absent[memToken] && !(field && w.came == nil):
		w.Checked(memToken, []byte("null"))
	}
	switch {
	case len(w.meta) > 0:
		w.Checked(memTask, object(w.meta))
	case as.blank != nil:
		w.Checked(memTask, as.blank)
	}
	w.Sorted(w.header)
	w.End()
	w.Checked(memPayload, w.raw)
	w.Sorted(w.top)
}

// recipient writes the recipient in the form of the text, or in that of the field with null for the
// unused member.
func (w *writer) recipient(field bool, as *shape) {
	to := string(w.m.Receiver())
	if !field {
		w.Text(memRecipient, to)
		return
	}
	service := w.m.Receiver().Is(serviceRouter) || w.m.Receiver().Is(serviceDiscovery)
	if w.came != nil && w.came.field { // a service may be named in either member
		service = !as.absent[memService] && !as.nulls[memService]
	}
	used, unused := memAgent, memService
	if service {
		used, unused = memService, memAgent
	}
	w.Text(used, to)
	switch {
	case w.came == nil || !w.came.field || as.nulls[unused]:
		w.Checked(unused, []byte("null"))
	case !as.absent[unused]:
		w.Text(unused, to)
	}
	switch {
	case w.came == nil || as.absent[memRecipient]:
	case as.nulls[memRecipient]:
		w.Checked(memRecipient, []byte("null"))
	case w.came.field:
		w.Text(memRecipient, to)
	}
}
