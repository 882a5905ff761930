package performatives

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Refusal is the error for a message that was not served: the runtime refused it, the
// agent rejected it or did not understand it, or the work failed. errors.Is(err, code)
// compares its [Code].
type Refusal struct {
	Code  Code
	Text  string       // safe to show to a peer; empty stands for the text of the code
	Act   Performative // the act of the message that carried the refusal; zero when no message did
	From  AgentID      // the agent that refused; empty for the runtime itself
	About MessageID    // the message that was refused, or its ReplyWith; empty when it has none
	Field string       // the path of the wrong field in the message; empty when no field was wrong

	// RetryAfter is a hint of a busy agent: the message, sent again unchanged, has no chance before
	// that time. It travels in whole milliseconds, rounded up, and as [MaxRetryAfter] if it is
	// longer; zero and negative values do not travel. Zero means no hint. NOT_UNDERSTOOD carries
	// none.
	RetryAfter time.Duration
}

// Refused returns the refusal of a runtime for the reason of a code. An empty text stands for the
// text of the code.
func Refused(code Code, text string) *Refusal { return &Refusal{Code: code, Text: text} }

// Refused is the function [Refused] for one copy of m.
func (m *Message) Refused(code Code, text string) *Refusal {
	return &Refusal{Code: code, Text: text, About: m.ID()}
}

// Error returns "agent: text (code)".
func (r *Refusal) Error() string {
	text := r.Text
	if text == "" {
		text = r.Code.Traits().Text
	}
	if r.From != "" {
		text = string(r.From) + ": " + text
	}
	if r.Code == "" {
		return text
	}
	return text + " (" + string(r.Code) + ")"
}

// Is reports whether target is r's code.
func (r *Refusal) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == r.Code
}

// invalid returns the refusal of a message with a wrong value in that field.
func invalid(field, want, got string) *Refusal {
	text := fmt.Sprintf("want %s, got %s", want, got)
	if field != "" {
		text = field + ": " + text
	}
	return &Refusal{Code: CodeInvalidPayload, Field: field, Text: text}
}

// RefusalOf returns the refusal in the chain of err, or nil without one.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// MaxRetryAfter is the longest [Refusal].RetryAfter of a peer that counts. A longer one counts as
// this.
const MaxRetryAfter = 24 * time.Hour

// MemberRetryAfter is the JSON member in which a [Refusal].RetryAfter travels.
const MemberRetryAfter = "retry_after_ms"

// RetryAfterMillis returns a [Refusal].RetryAfter as it travels: in whole milliseconds, rounded up,
// at most [MaxRetryAfter]. It is 0 for a value that does not travel.
func RetryAfterMillis(d time.Duration) int64 {
	d = min(max(d, 0), MaxRetryAfter)
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// RetryAfterOf returns the [Refusal].RetryAfter of a peer from its number of milliseconds. It is at
// most [MaxRetryAfter].
func RetryAfterOf(millis uint64) time.Duration {
	return time.Duration(min(millis, uint64(MaxRetryAfter/time.Millisecond))) * time.Millisecond
}

// ParseRetryAfter is [RetryAfterOf] for the JSON value of a [MemberRetryAfter]. It ignores any
// other value than a whole number in digits, such as a negative number, a fraction or a string:
// those are no hint, and zero.
func ParseRetryAfter(value []byte) time.Duration {
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // of a number beyond the range, n is the largest
		return 0
	}
	return RetryAfterOf(n)
}

// TakeRetryAfter removes the [MemberRetryAfter] from m, and returns its hint. A value that is none
// stays.
func (m Members) TakeRetryAfter() time.Duration {
	d := ParseRetryAfter(m[MemberRetryAfter])
	if d != 0 {
		delete(m, MemberRetryAfter)
	}
	return d
}

// Payload returns the payload of the refusal for r.Act, with extra as its unknown members: a
// [Failure] for an act that does not refuse. The payload keeps extra.
func (r *Refusal) Payload(extra Members) any {
	switch r.Act { //nolint:exhaustive // any other act has no payload of a refusal
	case ActTaskReject:
		return TaskReject{r.Code, r.Text, r.RetryAfter, extra}
	case ActRefuse:
		return Refuse{r.Code, r.Text, r.RetryAfter, extra}
	case ActRejectProposal:
		return RejectProposal{r.Code, r.Text, r.RetryAfter, extra}
	case ActNotUnderstood:
		return NotUnderstood{r.Code, r.Text, extra}
	}
	return Failure{r.Code, r.Text, r.RetryAfter, extra}
}

// RefusalIn returns a payload of this package as a refusal, with its act and the unknown members of
// the payload. The payload owns these members. It reports false for any other payload.
func RefusalIn(payload any) (r Refusal, extra Members, ok bool) {
	switch p := payload.(type) {
	case TaskReject:
		return Refusal{Act: p.Act(), Code: p.ReasonCode, Text: p.ReasonText, RetryAfter: p.RetryAfter}, p.Extra, true
	case Refuse:
		return Refusal{Act: p.Act(), Code: p.ReasonCode, Text: p.ReasonText, RetryAfter: p.RetryAfter}, p.Extra, true
	case RejectProposal:
		return Refusal{Act: p.Act(), Code: p.ReasonCode, Text: p.ReasonText, RetryAfter: p.RetryAfter}, p.Extra, true
	case NotUnderstood:
		return Refusal{Act: p.Act(), Code: p.ReasonCode, Text: p.ReasonText}, p.Extra, true
	case Failure:
		return Refusal{Act: p.Act(), Code: p.ErrorCode, Text: p.ErrorText, RetryAfter: p.RetryAfter}, p.Extra, true
	}
	return Refusal{}, nil, false
}

// RefusalWith returns the payload of a refusal with extra in place of its unknown members, and
// any other payload as it is. The payload keeps extra.
func RefusalWith(payload any, extra Members) any {
	if r, _, ok := RefusalIn(payload); ok {
		return r.Payload(extra)
	}
	return payload
}
