package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// messageFields has the fields of a message as text, by the names that acl gives them. An empty
// text stands for an absent field.
var messageFields = []struct {
	name string
	text func(m *performatives.Message) string
}{
	{fieldMessageID, func(m *performatives.Message) string { return string(m.ID()) }},
	{"performative", func(m *performatives.Message) string { return m.Performative().String() }},
	{"message_type", (*performatives.Message).MessageType},
	{"sender", func(m *performatives.Message) string { return string(m.Sender().Fold()) }},
	{"receiver", func(m *performatives.Message) string { return string(m.Receiver().Fold()) }},
	{"conversation_id", func(m *performatives.Message) string {
		if string(m.ConversationID()) == string(m.ID()) { // of its own
			return ""
		}
		return string(m.ConversationID())
	}},
	{"protocol", (*performatives.Message).Protocol},
	{"in_reply_to", (*performatives.Message).InReplyTo},
	{"reply_with", (*performatives.Message).ReplyWith},
	{fieldReplyBy, func(m *performatives.Message) string { return timeText(m.ReplyBy()) }},
	{"language", func(m *performatives.Message) string {
		return strings.TrimPrefix(m.Language(), performatives.LanguageJSON)
	}},
	{"ontology", (*performatives.Message).Ontology},
	{"priority", func(m *performatives.Message) string { return m.Priority().String() }},
	{"timestamp", func(m *performatives.Message) string { return timeText(m.Timestamp()) }},
	{"trace", (*performatives.Message).Trace},
	{"budget", func(m *performatives.Message) string {
		if m.Budget().IsZero() {
			return ""
		}
		text, _ := m.Budget().MarshalJSON()
		return string(text)
	}},
}

// The fields with a special comparison.
const (
	fieldMessageID = "message_id"
	fieldReplyBy   = "reply_by"
)

// sameDeadline reports whether both deadlines are the same, as far as a dialect can tell that
// writes the time that is left.
func sameDeadline(m, got *performatives.Message) bool {
	return !got.ReplyBy().IsZero() && m.ReplyBy().Sub(got.ReplyBy()).Abs() < time.Second
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// lost returns the names of the fields of a message that its reader in another dialect does not
// have, or has with another value.
func lost(m, got *performatives.Message) (names []string) {
	for _, f := range messageFields {
		if want := f.text(m); want != "" && f.text(got) != want && (f.name != fieldReplyBy || !sameDeadline(m, got)) {
			names = append(names, f.name)
		}
	}
	names = append(names, lostMembers("payload", payloadMembers(m), payloadMembers(got))...)
	theirs := make(map[string]any)
	for name, v := range got.AllMetadata() {
		theirs[name] = valueOf(v)
	}
	ours := make(map[string]any)
	for name, v := range m.AllMetadata() {
		ours[name] = valueOf(v)
	}
	return append(names, lostMembers("metadata", ours, theirs)...)
}

// lostMembers returns the paths of the members that the other object lacks, or has with another
// value.
func lostMembers(path string, ours, theirs map[string]any) (names []string) {
	for name, v := range ours {
		if other, ok := theirs[name]; !ok && v != nil || ok && !reflect.DeepEqual(v, other) {
			names = append(names, path+"."+name)
		}
	}
	slices.Sort(names)
	return names
}

// payloadMembers returns the members of a payload, without its priority, which is the message's.
func payloadMembers(m *performatives.Message) map[string]any {
	text, err := json.Marshal(m.Payload())
	if err != nil {
		return nil
	}
	members, _ := valueOf(text).(map[string]any)
	delete(members, "priority")
	return members
}

// valueOf returns a JSON value with exact numbers.
func valueOf(text []byte) (v any) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}
