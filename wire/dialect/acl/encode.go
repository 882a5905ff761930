package acl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Version is the mcp_version that this package writes (acl §3). It reads the majors 0 and 1.
const Version = "0.1.0"

// writer writes one message.
type writer struct {
	jsonscan.Builder
	m     *performatives.Message
	shape *shape
}

// message writes the members, in the order in which acl §3 lists them.
func (w *writer) message() {
	m := w.m
	w.version()
	if w.shape.had.Has(memID) && !w.blank(memID) {
		w.text(memID, string(m.ID()))
	}
	w.act()
	w.agent(memSender, m.Sender(), w.shape.style == IDE)
	receiver := m.Receiver()
	if w.shape.anyone && w.shape.of == m {
		receiver = anyone
	}
	w.agent(memReceiver, receiver, w.shape.plainReceiver)
	w.references()
	w.text(memProtocol, m.Protocol())
	w.text(memMessageType, m.MessageType())
	w.text(memTrace, m.Trace())
	w.budget()
	if language := m.Language(); language != "" || !w.blank(memLanguage) && w.shape.had.Has(memLanguage) {
		w.text(memLanguage, cmp.Or(language, performatives.LanguageJSON))
	}
	w.text(memOntology, m.Ontology())
	w.time(memReplyBy, m.ReplyBy())
	if w.shape.had.Has(memTimestamp) && !w.blank(memTimestamp) {
		w.time(memTimestamp, m.Timestamp())
	}
	w.payload()
	w.metadata()
}

var memberKeys = func() (keys []string) {
	for _, name := range memberNames {
		keys = append(keys, `,"`+name+`":`)
	}
	return keys
}()

// name writes the name of the next member.
func (w *writer) name(m int) {
	key := memberKeys[m]
	if w.JSON[len(w.JSON)-1] == '{' {
		key = key[1:]
	}
	w.JSON = append(w.JSON, key...)
}

// text writes a member that is a string. An empty string is left out, unless the message
// was read with a blank member of that name.
func (w *writer) text(m int, s string) {
	if s == "" {
		w.blank(m)
		return
	}
	w.name(m)
	w.JSON = jsonscan.AppendQuoted(w.JSON, s)
}

// blank writes a blank member unchanged, if the message was read with one.
func (w *writer) blank(m int) bool {
	for _, b := range w.shape.blanks {
		if b.member == m {
			w.name(m)
			w.JSON = append(w.JSON, b.text...)
			return true
		}
	}
	return false
}

func (w *writer) version() {
	if v, ok := w.m.Metadata(memberNames[memVersion]); ok {
		w.raw(memberNames[memVersion], v)
	} else if w.shape.had.Has(memVersion) {
		w.text(memVersion, Version)
	}
}

func (w *writer) act() {
	name := actName(w.m.Performative(), w.shape.style)
	if came := w.shape.act; came != "" {
		if act, _ := actOf([]byte(came), w.shape.style); act == w.m.Performative() {
			name = came
		}
	}
	w.text(memPerformative, name)
}

// references writes the members that refer to other messages and to the conversation.
func (w *writer) references() {
	m := w.m
	if w.shape.derived && m.InReplyTo() == string(m.ConversationID()) {
		w.blank(memInReplyTo)
	} else {
		w.text(memInReplyTo, m.InReplyTo())
	}
	w.text(memReplyWith, m.ReplyWith())
	switch own := string(m.ConversationID()) == string(m.ID()); {
	case !own, w.shape.had.Has(memConversation) && !w.blank(memConversation):
		w.text(memConversation, string(m.ConversationID()))
	}
}

func (w *writer) budget() {
	b := w.m.Budget()
	if b.IsZero() {
		w.blank(memBudget)
		return
	}
	text, err := json.Marshal(b)
	w.Fail(err)
	w.raw(memberNames[memBudget], text)
}

// time writes a member as RFC 3339 in UTC (addenda §1). It leaves out the zero time, as text does.
func (w *writer) time(m int, t time.Time) {
	if t.IsZero() {
		w.blank(m)
		return
	}
	w.name(m)
	w.JSON = append(w.JSON, '"')
	w.JSON = append(t.UTC().AppendFormat(w.JSON, time.RFC3339Nano), '"')
}

// metadata writes the members without a field, sorted by name. It leaves out a member with
// a name of this dialect's envelope: another dialect stored it, with another meaning.
func (w *writer) metadata() {
	var names []string
	for name := range w.m.AllMetadata() {
		if memberNames.Find([]byte(name)) == len(memberNames) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		v, _ := w.m.Metadata(name)
		w.raw(name, v)
	}
}

// raw writes a member whose JSON may be invalid.
func (w *writer) raw(name string, v []byte) {
	w.Checked(name, v)
	if !utf8.Valid(v) {
		w.Fail(fmt.Errorf("%s: %w", name, errNoUTF8))
	}
}
