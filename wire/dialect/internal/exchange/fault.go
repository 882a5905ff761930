package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Fault is the first error of a message. Its dialect reads on, so that the answer to the sender
// can be addressed.
type Fault struct {
	Refusal *performatives.Refusal
	Code    performatives.Code // of wrong members; empty = CodeInvalidPayload
}

// Refuse stores the first error. It ignores later ones.
func (f *Fault) Refuse(r *performatives.Refusal) {
	if f.Refusal == nil {
		f.Refusal = r
	}
}

// Invalid stores the refusal of a member with a value of another type: see [Invalid].
func (f *Fault) Invalid(field, want string, got []byte) {
	f.Wrong(field, "%s, got %s", want, jsonscan.KindOf(got))
}

// Wrong stores the refusal of a member with another value: see [Wrong].
func (f *Fault) Wrong(field, want string, args ...any) {
	f.WrongAs(cmp.Or(f.Code, performatives.CodeInvalidPayload), field, want, args...)
}

// WrongAs stores the refusal of a member with another value, with that code.
func (f *Fault) WrongAs(code performatives.Code, field, want string, args ...any) {
	if f.Refusal == nil {
		f.Refusal = Wrong(field, want, args...)
		f.Refusal.Code = code
	}
}

// OwnID refuses a payload in which the sender describes itself, with the agent_id of another agent.
func (f *Fault) OwnID(payload []byte, sender performatives.AgentID) {
	if id := performatives.AgentID(jsonscan.Text(jsonscan.Member(payload, "agent_id"))); !id.Is(sender) {
		f.Wrong("payload.agent_id", "the sender, %.64q, got %.64q", sender, id)
	}
}

// Invalid is the refusal of a member with a value of another type than the wanted one.
func Invalid(field, want string, got []byte) *performatives.Refusal {
	return Wrong(field, "%s, got %s", want, jsonscan.KindOf(got))
}

// Wrong is the refusal of a member with a wrong value, or of a whole message for an empty field.
// The text after "want" is made by [fmt.Sprintf].
func Wrong(field, want string, args ...any) *performatives.Refusal {
	text := "want " + fmt.Sprintf(want, args...)
	if field != "" {
		text = field + ": " + text
	}
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: text}
}

// IsAnswer reports whether a message only answers another one: no error answers it (addenda §9). A
// frame that was no message is nil.
func IsAnswer(m *performatives.Message) bool {
	return m != nil && !m.Performative().ExpectsReply() && (m.InReplyTo() != "" || m.Performative().IsReply())
}

// Codes for which several dialects have one word each. The word is read as the first one.
var (
	// Untrusted has the codes of a sender without valid credentials, or of a payload without a
	// valid seal.
	Untrusted = []performatives.Code{
		performatives.CodeUnauthorized, performatives.CodeHandshakeRequired, performatives.CodeSealRequired, performatives.CodeUnknownKey,
		performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired, performatives.CodeReplayed,
	}
	// Malformed has the codes of a message that is not understood.
	Malformed = []performatives.Code{
		performatives.CodeInvalidPayload, performatives.CodeUnknownPerformative, performatives.CodeParsingError, performatives.CodeUnknownOntology,
		performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID, performatives.CodeUnexpectedAct,
	}
	// Unable has the codes of work for which there is no agent.
	Unable = []performatives.Code{
		performatives.CodeIncapable, performatives.CodeUnknownAction, performatives.CodeNoMatch, performatives.CodeUnknownReference, performatives.CodeCannotDecide,
	}
	// Late has the codes of a passed deadline.
	Late = []performatives.Code{performatives.CodeTimeout, performatives.CodeExpired}
	// Failed has the codes of work that was not done, or not to its end.
	Failed = []performatives.Code{
		performatives.CodeFailed, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeUnspecified, performatives.CodeStillRunning,
	}
)

// Renamed returns the refusal in an error of package performatives, or one without details, with
// the field names of a dialect. The members of a renamed field are renamed, too. It is nil for no
// error.
func Renamed(err error, names map[string]string) *performatives.Refusal {
	if err == nil {
		return nil
	}
	r := performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: performatives.CodeInvalidPayload.Traits().Text}
	if known := performatives.RefusalOf(err); known != nil {
		r = *known
	}
	for theirs, ours := range names {
		rest, ok := strings.CutPrefix(r.Field, theirs)
		if !ok || rest != "" && rest[0] != '.' {
			continue
		}
		text, own := strings.CutPrefix(r.Text, r.Field)
		if !own {
			text = ": " + text
		}
		r.Field = ours + rest
		r.Text = r.Field + text
		break
	}
	return &r
}

// OfParameters returns an error text about the parameters of a task with the name of a dialect for
// them.
func OfParameters(text, name string) string {
	if rest, ok := strings.CutPrefix(text, "task_parameters"); ok {
		return name + rest
	}
	return text
}

// Legible returns the text of a string that could be an id, and "" for any other value.
func Legible(v []byte) string {
	if !jsonscan.Is(v, '"') || len(v) > 6*performatives.MaxIDLength {
		return ""
	}
	text, ok := jsonscan.Unquote(v)
	if !ok || len(text) > performatives.MaxIDLength || bytes.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return string(text)
}
