package acl

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Version is the mcp_version that this package writes (acl §3). It reads any.
const Version = "0.1.0"

// writer writes one message.
type writer struct {
	dst   []byte
	m     *performatives.Message
	shape *shape
	depth int
}

// message writes the members, in the order in which acl §3 lists them.
func (w *writer) message() error {
	m := w.m
	if err := w.version(); err != nil {
		return err
	}
	if w.shape.had.has(memID) && !w.blank(memID) {
		w.text(memID, string(m.ID()))
	}
	w.act()
	w.agent(memSender, m.Sender(), w.shape.style == IDE)
	w.agent(memReceiver, m.Receiver(), w.shape.plainReceiver)
	w.references()
	w.text(memProtocol, m.Protocol())
	w.text(memTrace, m.Trace())
	if err := w.budget(); err != nil {
		return err
	}
	w.language()
	w.text(memOntology, m.Ontology())
	w.times()
	if err := w.payload(); err != nil {
		return err
	}
	return w.metadata()
}

var memberKeys = func() (keys [memberCount]string) {
	for m, name := range memberNames {
		keys[m] = `,"` + name + `":`
	}
	return keys
}()

// name writes the name of a member that is next.
func (w *writer) name(m member) {
	key := memberKeys[m]
	if w.dst[len(w.dst)-1] == '{' {
		key = key[1:]
	}
	w.dst = append(w.dst, key...)
}

// text writes a member that is a string. An empty one is left out, unless the
// message came with a member that says nothing.
func (w *writer) text(m member, s string) {
	if s == "" {
		w.blank(m)
		return
	}
	w.name(m)
	w.dst = jsonscan.AppendQuoted(w.dst, s)
}

// blank writes a member that says nothing as it came, if it came.
func (w *writer) blank(m member) bool {
	text, ok := w.shape.blankOf(m)
	if ok {
		w.name(m)
		w.dst = append(w.dst, text...)
	}
	return ok
}

func (w *writer) version() error {
	if v, ok := w.m.Metadata(memberNames[memVersion]); ok {
		w.name(memVersion)
		return w.raw(memberNames[memVersion], v)
	}
	if w.shape.had.has(memVersion) {
		w.text(memVersion, Version)
	}
	return nil
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

// references writes what ties the message to others.
func (w *writer) references() {
	m := w.m
	if w.shape.derived && m.InReplyTo() == string(m.ConversationID()) {
		w.blank(memInReplyTo)
	} else {
		w.text(memInReplyTo, m.InReplyTo())
	}
	w.text(memReplyWith, m.ReplyWith())
	switch own := string(m.ConversationID()) == string(m.ID()); {
	case !own, w.shape.had.has(memConversation) && !w.blank(memConversation):
		w.text(memConversation, string(m.ConversationID()))
	}
}

func (w *writer) budget() error {
	b := w.m.Budget()
	if b.IsZero() {
		w.blank(memBudget)
		return nil
	}
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("acl: budget: %w", err)
	}
	w.name(memBudget)
	return w.raw(memberNames[memBudget], text)
}

// language writes the language; a message made here that doesn't say any is JSON.
func (w *writer) language() {
	language := w.m.Language()
	if _, blank := w.shape.blankOf(memLanguage); language == "" && !blank && w.shape.had.has(memLanguage) {
		language = performatives.LanguageJSON
	}
	w.text(memLanguage, language)
}

func (w *writer) times() {
	if t := w.m.ReplyBy(); !t.IsZero() {
		w.name(memReplyBy)
		w.dst = appendTime(w.dst, t)
	} else {
		w.blank(memReplyBy)
	}
	if w.shape.had.has(memTimestamp) && !w.blank(memTimestamp) {
		w.name(memTimestamp)
		w.dst = appendTime(w.dst, w.m.Timestamp())
	}
}

// metadata writes the members that no field stands for, sorted by name. One that
// has the name of a member which this dialect knows came from another dialect,
// means something else there, and is left out.
func (w *writer) metadata() error {
	var names []string
	for name := range w.m.AllMetadata() {
		if memberOf([]byte(name)) == memberCount {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w.dst = jsonscan.AppendQuoted(append(w.dst, ','), name)
		w.dst = append(w.dst, ':')
		v, _ := w.m.Metadata(name)
		if err := w.raw(name, v); err != nil {
			return err
		}
	}
	return nil
}

// raw writes JSON that nobody may have looked at.
func (w *writer) raw(name string, v []byte) error {
	s := jsonscan.Scanner{Data: v, Depth: w.depth - 1}
	switch {
	case !s.Value(), !s.End():
		return fmt.Errorf("acl: %s: %s", name, s.Problem())
	case !utf8.Valid(v):
		return fmt.Errorf("acl: %s: %w", name, errNoUTF8)
	}
	w.dst = append(w.dst, v...)
	return nil
}
