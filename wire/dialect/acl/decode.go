package acl

import (
	"bytes"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// decoder turns one envelope into a message.
type decoder struct {
	exchange.Reader
	codec *Codec
	text  strings.Builder // all strings of the message, in one allocation
	out   performatives.Envelope
	shape shape
}

// message makes the message, or returns nil and stores the error.
func (d *decoder) message() *performatives.Message {
	d.prepare()
	d.agents()
	d.act()
	d.version()
	d.addressed()
	d.strings()
	d.out.Timestamp, d.out.ReplyBy = d.time(memTimestamp), d.time(memReplyBy)
	d.stamp()
	d.metadata()
	d.payload()
	if d.Refusal != nil {
		return nil
	}
	var sh *shape
	// Of an ordinary message only the shape records a conversation_id that equals the message_id.
	if string(d.out.ConversationID) == string(d.out.ID) || !d.shape.ordinary() {
		sh = new(shape)
		*sh = d.shape
		d.out.Shape = sh
	}
	m, err := performatives.New(d.out)
	if err != nil {
		d.Refusal = exchange.Renamed(err, nil)
		return nil
	}
	if sh != nil {
		sh.of = m
	}
	return m
}

// copied has the members whose text the message keeps, in one allocation: a reference to
// one of the strings keeps the memory of all.
var copied = exchange.SetOf(memID, memSender, memReceiver, memInReplyTo, memReplyWith, memConversation, memProtocol, memMessageType, memTrace, memLanguage, memOntology)

// maxText bounds the memory that prepare reserves for the text of one member, in bytes:
// it suffices for an id, whatever other members the object of an agent has.
const maxText = 2 * performatives.MaxIDLength

// prepare records which members are there, and reserves memory for their text.
func (d *decoder) prepare() {
	n := 0
	d.shape.had, _ = d.Had()
	for m, v := range d.Values {
		if copied.Has(m) {
			n += min(len(v), maxText)
		}
	}
	d.text.Grow(n)
}

// str reads a member that is a string. null and "" count as absent.
func (d *decoder) str(m int) string {
	s := d.string(memberNames[m], d.Values[m])
	if s == "" {
		d.blank(m)
	}
	return s
}

// blank records a member without information, such as a null, so that it is written again. An
// absent one is not.
func (d *decoder) blank(m int) {
	if v := d.Values[m]; v != nil {
		d.shape.blanks = append(d.shape.blanks, blank{m, string(v)})
	}
}

// string returns the text of a JSON string, "" for null.
func (d *decoder) string(field string, v []byte) string {
	if jsonscan.IsNone(v) {
		return ""
	}
	if v[0] != '"' {
		d.Invalid(field, "a string", v)
		return ""
	}
	s, ok := jsonscan.Unquote(v)
	if !ok {
		d.Invalid(field, "text", v)
		return ""
	}
	from := d.text.Len()
	d.text.Write(s)
	return d.text.String()[from:]
}

func (d *decoder) act() {
	v := d.Values[memPerformative]
	if !jsonscan.Is(v, '"') {
		d.Invalid("performative", "the name of an act", v)
	}
	name := jsonscan.TextBytes(v)
	act, ok := actOf(name, d.shape.style)
	if !ok {
		_, err := performatives.ParsePerformative(string(name))
		d.Refuse(&performatives.Refusal{
			Code: performatives.CodeUnknownPerformative, Field: "performative", Text: exchange.Renamed(err, nil).Text,
		})
	}
	d.out.Performative = act
	if string(name) != actName(act, d.shape.style) {
		d.shape.act = string(name)
	}
}

// version refuses an mcp_version of a major other than 0 and 1 (addenda §7). Absent or null means
// [Version].
func (d *decoder) version() {
	v := d.Values[memVersion]
	if jsonscan.IsNone(v) {
		return
	}
	major, _, _ := strings.Cut(strings.Trim(string(v), `"`), ".")
	if (v[0] != '"' && (v[0] < '0' || v[0] > '9')) || major != "0" && major != "1" {
		d.Wrong("mcp_version", "a version 0.x or 1.x, got %.32s", v)
	}
}

// anyone is the receiver of the style IDE that names none: work for it goes to the first agent with
// the action of the ontology that accepts it, all else to all agents (addenda §9).
const anyone = "*"

// addressed refuses a message without a receiver that starts work (addenda §7). A query for
// capabilities, and a message that expects no reply, are then for all agents.
func (d *decoder) addressed() {
	act := d.out.Performative
	if d.shape.style == IDE && d.out.Receiver == anyone {
		d.shape.anyone, d.out.Receiver = true, ""
		if act.ExpectsReply() {
			d.out.Receiver = "system" // the namespace of all agents
		}
	}
	if d.out.Receiver == "" && act.ExpectsReply() && act != performatives.ActQueryCapabilities {
		d.Wrong("receiver", "the agent that a %s is for, got nothing", act)
	}
}

func (d *decoder) strings() {
	if d.Values[memID] != nil || d.shape.style == Spec {
		d.out.ID = performatives.MessageID(d.str(memID))
	}
	d.out.InReplyTo = d.str(memInReplyTo)
	d.out.ReplyWith = d.str(memReplyWith)
	d.out.ConversationID = performatives.ConversationID(d.str(memConversation))
	d.out.Protocol = d.str(memProtocol)
	d.out.MessageType = d.str(memMessageType)
	d.out.Trace = d.str(memTrace)
	d.out.Language = d.str(memLanguage)
	d.out.Ontology = d.str(memOntology)
	if d.shape.style == IDE && d.out.InReplyTo == "" && d.out.Performative.IsReply() {
		// The answer of an IDE client refers to its request by the conversation alone,
		// and a conversation that this node opened has the id of its first message.
		d.out.InReplyTo = string(d.out.ConversationID)
		d.shape.derived = true
	}
}

func (d *decoder) time(m int) time.Time {
	v := d.Values[m]
	switch {
	case jsonscan.IsNone(v), string(v) == `""`:
		d.blank(m)
		return time.Time{}
	case v[0] != '"':
		d.Invalid(memberNames[m], "an ISO 8601 time", v)
	}
	text := jsonscan.TextBytes(v)
	t, ok := isotime.Parse(text)
	if !ok {
		d.Wrong(memberNames[m], "an ISO 8601 time, got %.48q", text)
	}
	return t
}

// stamp adds a missing time, and in the style IDE a missing id. In the style Spec an
// envelope without an id is refused: its sender could not match the answer.
func (d *decoder) stamp() {
	needID, needTime := d.out.ID == "" && d.shape.style == IDE, d.out.Timestamp.IsZero()
	if !needID && !needTime {
		return
	}
	s := d.codec.opts.Stamper.Stamp()
	if needID {
		d.out.ID = s.ID
	}
	if needTime {
		d.out.Timestamp = s.Time
	}
}

// metadata collects the members of the envelope without a field.
func (d *decoder) metadata() {
	d.KeepAll(d.Unknown, &d.out.Metadata, "")
	if v := d.Values[memVersion]; string(v) != `"`+Version+`"` {
		exchange.Keep(&d.out.Metadata, memberNames[memVersion], v)
	}
	if v := d.Values[memBudget]; jsonscan.IsNone(v) {
		d.blank(memBudget)
	} else {
		d.out.Budget = performatives.RawContent(bytes.Clone(v))
	}
}
