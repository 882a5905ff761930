package codons

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TraceID identifies a trace (W3C Trace Context §3.2.2.3). It is never zero in a [Span] that is not zero.
type TraceID [16]byte

// SpanID identifies a span in its trace (W3C Trace Context §3.2.2.4).
type SpanID [8]byte

// Span is the place of one side of a conversation, or of one run of a job, in a distributed trace. With [actors.Options].Tracing, each
// has one. It is computed from the ids of agents and messages, so that it is the same wherever and whenever it is needed. The zero Span
// means none.
//
// The parent of a responder's span is the span in the traceparent of its first message: the
// initiator's, when the initiator's system traces too. The parent of a job's span is that of its
// side. The parent of an initiator's span is the job from which the conversation was begun, or what
// [WithTrace] names.
type Span struct {
	Trace   TraceID
	ID      SpanID
	Parent  SpanID // zero: the trace begins with the span
	Sampled bool   // whether the trace is to be kept, as its first span decides
}

// IsZero reports whether s is the zero Span.
func (s Span) IsZero() bool { return s == Span{} }

// Traceparent returns the traceparent with which other spans name s as their parent (W3C Trace Context §3.2), empty for the zero Span.
func (s Span) Traceparent() string {
	if s.IsZero() {
		return ""
	}
	text := hex.AppendEncode(append(make([]byte, 0, 55), "00-"...), s.Trace[:])
	text = hex.AppendEncode(append(text, '-'), s.ID[:])
	if s.Sampled {
		return string(append(text, "-01"...))
	}
	return string(append(text, "-00"...))
}

// SpanOf returns the span of the job whose ctx it is, for spans of the program's own below it. It is zero for any other context, and
// without [actors.Options].Tracing.
func SpanOf(ctx context.Context) Span {
	s := scopeOf(ctx)
	if s == nil {
		return Span{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.span()
}

// span returns the span of the handler. The caller holds s.mu.
func (s *scope) span() Span {
	if s.job == nil {
		return Span{}
	}
	return *s.job
}

// parseTraceparent returns the span that a traceparent names. ok is false for a text that is none.
func parseTraceparent(text string) (s Span, ok bool) {
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:3] == "ff-" || text[:3] == "00-" && len(text) > 55 || strings.ToLower(text[:55]) != text[:55] {
		return s, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		from string
	}{{version[:], text[:2]}, {s.Trace[:], text[3:35]}, {s.ID[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.from)); err != nil {
			return Span{}, false
		}
	}
	s.Sampled = flags[0]&1 != 0
	return s, s.Trace != TraceID{} && s.ID != SpanID{}
}

// child returns a span below s with an id that identity decides.
func (s Span) child(identity ...string) Span {
	sum := digest(append([]string{string(s.Trace[:])}, identity...))
	below := Span{Trace: s.Trace, ID: SpanID(sum[:8]), Parent: s.ID, Sampled: s.Sampled}
	below.ID[7] |= 1 // a zero id is none
	return below
}

// rootOf returns what the first spans of a new trace are below: it has a trace and no id.
func rootOf(t *actors.Tracing, identity ...string) Span {
	sum := digest(identity)
	root := Span{Trace: TraceID(sum[:16])}
	root.Trace[0] |= 1 // a zero id is none
	root.Sampled = t.Samples(binary.BigEndian.Uint64(root.Trace[8:]))
	return root
}

// digest returns a hash of the parts, and of where each begins.
func digest(parts []string) [sha256.Size]byte {
	var room [512]byte
	text := room[:0]
	for _, p := range parts {
		text = append(strconv.AppendInt(text, int64(len(p)), 10), ' ')
		text = append(text, p...)
	}
	return sha256.Sum256(text)
}

// openingSpan returns the span of the initiator of the conversation that e is to open. e.Trace names its parent, and is empty without one.
// The result is zero when e.Trace is no traceparent.
func openingSpan(t *actors.Tracing, e *performatives.Envelope) Span {
	conversation := string(e.ConversationID)
	if conversation == "" {
		conversation = string(e.ID)
	}
	return sideSpan(t, e.Trace, machine.Initiator, conversation, string(e.ID), e.Sender, e.Receiver)
}

func sideSpan(t *actors.Tracing, parent string, role machine.Role, conversation, first string, self, peer performatives.AgentID) Span {
	initiator := self
	if role == machine.Responder {
		initiator = peer
	}
	above, ok := parseTraceparent(parent)
	switch {
	case ok:
	case parent != "":
		return Span{}
	default:
		above = rootOf(t, "conversation", string(initiator.Fold()), conversation)
	}
	return above.child(role.String(), string(self.Fold()), string(peer.Fold()), first)
}

// Span returns the span of this side. It is zero without [actors.Options].Tracing. Safe for concurrent use.
func (c *Conversation) Span() Span {
	t := c.agent.System().Tracing()
	if t == nil {
		return Span{}
	}
	parent := c.first.Trace()
	if below, ok := c.side.(interface{ parentTrace() string }); ok && c.about.Role == machine.Initiator {
		parent = below.parentTrace()
	}
	return sideSpan(t, parent, c.about.Role, string(c.key.ID), string(c.first.ID()), c.self, c.key.Peer)
}

// jobSpan returns the span of a job of this side that m has started; m is nil for none.
func (c *Conversation) jobSpan(job string, m *performatives.Message) Span {
	side := c.Span()
	if side.IsZero() {
		return side
	}
	return side.child("job", job, hex.EncodeToString(side.ID[:]), string(idOf(m)))
}

// parentTrace returns the traceparent of the caller, empty without one.
func (i *Initiator) parentTrace() string { return i.options.trace }

// traced sets the traceparent of the opening act to the span of this side. The options keep that of the caller. An invalid traceparent
// stays, so that the message is refused for it.
func (i *Initiator) traced(system *actors.System, e *performatives.Envelope) {
	t := system.Tracing()
	if t == nil {
		return
	}
	i.options.trace = strings.Clone(e.Trace)
	if s := openingSpan(t, e); !s.IsZero() {
		e.Trace = s.Traceparent()
	}
}
