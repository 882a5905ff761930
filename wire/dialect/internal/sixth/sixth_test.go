// Package sixth_test adds a dialect without a change of any other package. What it imports is what
// a dialect needs: wire, performatives, jsonscan and the parts that the dialects have in common.
package sixth_test

import (
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// pidgin is a dialect of four verbs: {"verb":"do","id":"1","from":"A","to":"B","what":{…}}. The id
// of a request names it, and all that is said about it.
type pidgin struct{}

const (
	memVerb = iota
	memID
	memFrom
	memTo
	memWhat
	memToken
)

var members = exchange.Names{"verb", "id", "from", "to", "what", exchange.MemberToken}

// verbs is the table of acts.
var verbs = map[string]performatives.Performative{
	"do": performatives.ActTaskRequest, "done": performatives.ActInformResult, "cannot": performatives.ActFailure,
	"stop": performatives.ActCancel,
}

// words is the vocabulary for codes: one word stands for most of them.
var words = func() wire.Words {
	table := map[string][]performatives.Code{"TIRED": {performatives.CodeBusy}, "BROKEN": {performatives.CodeFailed}}
	for _, c := range performatives.Codes() {
		if c.Code != performatives.CodeBusy && c.Code != performatives.CodeFailed {
			table["BROKEN"] = append(table["BROKEN"], c.Code)
		}
	}
	return wire.WordsOf(table)
}()

// rules has the members of what is said, by verb.
var rules = map[string][]rule.Member{
	"do":     {rule.Required("task", rule.Name), rule.Optional("with", rule.Object)},
	"done":   {rule.Optional("result", rule.Object)},
	"cannot": {rule.Required("why", rule.Name), rule.Optional("text", rule.Text)},
}

func (pidgin) Name() string                 { return "pidgin" }
func (pidgin) Recognizes(frame []byte) bool { return wire.HasMember(frame, "verb") }

// Services has the name by which a peer addresses all agents of a node.
func (pidgin) Services() []performatives.AgentID { return []performatives.AgentID{"EVERYBODY"} }

func (pidgin) Open(o wire.CodecOptions) (wire.Codec, error) {
	c := &codec{o: o}
	c.asked.Init(o.MaxPending, true, nil)
	c.calls.Init(o.MaxPending, false, nil)
	return c, nil
}

type call struct{ exchange.Request }

// codec has the requests of a session.
type codec struct {
	o wire.CodecOptions

	mu           sync.Mutex
	calls, asked exchange.Pending[*call]
	withdrawn    exchange.Withdrawn
}

type decoder struct {
	exchange.Fault
	exchange.Members
	out performatives.Envelope
}

// Decode reads one message.
func (c *codec) Decode(frame []byte, take func(wire.Inbound)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var d decoder
	s, bad := exchange.Open(frame, c.o.MaxBytes)
	if bad == nil && !d.Scan(&s, members) {
		bad = exchange.Broken(s.Problem())
	}
	if d.Refusal = bad; bad == nil {
		d.read(c)
	}
	in := wire.Inbound{Token: exchange.Bearer(jsonscan.Text(d.Values[memToken])), Ref: exchange.Legible(d.Values[memID])}
	if d.Refusal == nil {
		in.Message, bad = d.made()
		d.Refusal = bad
	}
	if in.Err = d.Refusal; in.Err != nil {
		in.Answer = c.Refuse(nil, in, in.Err)
	}
	take(in)
}

func (d *decoder) made() (*performatives.Message, *performatives.Refusal) {
	m, err := performatives.New(d.out)
	if err != nil {
		return nil, exchange.Renamed(err, map[string]string{"sender": "from", "receiver": "to"})
	}
	return m, nil
}

// read reads the members, and finds the request that the message is about.
func (d *decoder) read(c *codec) {
	verb, what, id := jsonscan.Text(d.Values[memVerb]), d.Values[memWhat], jsonscan.Text(d.Values[memID])
	act, known := verbs[verb]
	if !known {
		d.Wrong("verb", "do, done, cannot or stop, got %.16q", verb)
	}
	if bad := rule.Check(rules[verb], "what", what, true); bad != nil {
		d.Refuse(bad)
	}
	if d.Refusal != nil {
		return
	}
	stamp := c.o.Stamper.Stamp()
	d.out = performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: act, Sender: performatives.AgentID(jsonscan.Text(d.Values[memFrom])),
		Receiver: performatives.AgentID(jsonscan.Text(d.Values[memTo])), InReplyTo: id,
	}
	x := c.asked.Find(d.out.Receiver, id)
	switch act { //nolint:exhaustive // the acts of the table
	case performatives.ActTaskRequest:
		d.out.ID, d.out.InReplyTo = performatives.MessageID(id), ""
		d.out.Payload = performatives.TaskRequest{
			TaskType: jsonscan.Text(jsonscan.Member(what, "task")), Parameters: performatives.RawContent(jsonscan.Member(what, "with")),
		}
		if c.withdrawn.Overtook(exchange.KeyOf(d.out.Sender, id), d.out.ID, func() time.Time { return stamp.Time }) {
			d.Refuse(exchange.Canceled(d.out.ID))
			return
		}
		c.calls.Add(&call{exchange.RequestOf(&d.out, verb)})
	case performatives.ActInformResult:
		d.out.Payload = performatives.InformResult{
			Status: performatives.StatusSuccess, Details: performatives.RawContent(jsonscan.Member(what, "result")),
		}
	case performatives.ActFailure:
		code := words.Read(jsonscan.Text(jsonscan.Member(what, "why")), "")
		d.out.Payload = performatives.Failure{ErrorCode: code, ErrorText: jsonscan.Text(jsonscan.Member(what, "text"))}
	case performatives.ActCancel:
		d.out.Payload = performatives.Cancel{}
		if x = c.calls.Find("", id); x == nil {
			c.withdrawn.Note(exchange.KeyOf(d.out.Sender, id), stamp.Time)
		}
	}
	if x != nil {
		d.out.ConversationID = x.Conversation
	}
	if act != performatives.ActCancel {
		c.asked.Remove(x)
	}
}

// Encode writes one message. Progress has no verb, and is not written.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	what := jsonscan.OpenObject(nil)
	verb, id := "", m.InReplyTo()
	switch p := m.Payload().(type) {
	case performatives.TaskRequest:
		verb, id = "do", string(m.ID())
		what.Text("task", p.TaskType)
		what.Value("with", p.Parameters)
	case performatives.InformResult:
		verb = "done"
		what.Value("result", p.Details)
	case performatives.Cancel:
		verb = "stop"
	default:
		r := m.AsRefusal()
		if r == nil {
			return dst, nil
		}
		verb = "cannot"
		what.Text("why", words.Own(r.Code))
		what.Text("text", r.Text)
	}
	payload, err := what.Close()
	if err != nil {
		return dst, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if verb == "do" {
		c.asked.Add(&call{exchange.RequestTo(m, verb)})
	}
	c.calls.Remove(c.calls.Find("", m.InReplyTo()))
	return c.frame(dst, verb, id, m.Sender(), m.Receiver(), payload)
}

func (c *codec) frame(dst []byte, verb, id string, from, to performatives.AgentID, what []byte) ([]byte, error) {
	b := jsonscan.OpenObject(dst)
	b.Text(members[memVerb], verb)
	b.Text(members[memID], id)
	b.Text(members[memFrom], string(from))
	b.Text(members[memTo], string(to))
	b.Checked(members[memWhat], what)
	if c.o.Token != nil {
		b.Text(members[memToken], c.o.Token())
	}
	return b.Close()
}

// Refuse writes the failure of a message, which has its id.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	to := performatives.AgentID("unknown")
	if in.Message != nil {
		to = in.Message.Sender()
	}
	r := wire.AsRefusal(err)
	what := jsonscan.OpenObject(nil)
	what.Text("why", words.Own(r.Code))
	what.Text("text", r.Text)
	out, bad := what.Close()
	if bad == nil {
		out, bad = c.frame(dst, "cannot", in.Ref.(string), c.o.Local, to, out)
	}
	if bad != nil {
		return dst
	}
	return out
}
