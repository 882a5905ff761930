package codons

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// SpanOf returns the span of the job whose ctx it is, for spans of the program's own below it. It
// is zero for any other context, and without [actors.Options].Tracing.
func SpanOf(ctx context.Context) lifecycle.Span {
	s := scopeOf(ctx)
	if s == nil {
		return lifecycle.Span{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.span()
}

// span returns the span of the handler. The caller holds s.mu.
func (s *scope) span() lifecycle.Span {
	if s.job == nil {
		return lifecycle.Span{}
	}
	return *s.job
}

// parseTraceparent returns the span that a traceparent names. ok is false for a text that is none.
func parseTraceparent(text string) (s lifecycle.Span, ok bool) {
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:3] == "ff-" || text[:3] == "00-" && len(text) > 55 || strings.ToLower(text[:55]) != text[:55] {
		return s, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		from string
	}{{version[:], text[:2]}, {s.Trace[:], text[3:35]}, {s.ID[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.from)); err != nil {
			return lifecycle.Span{}, false
		}
	}
	s.Sampled = flags[0]&1 != 0
	return s, s.Trace != lifecycle.TraceID{} && s.ID != lifecycle.SpanID{}
}

// spanBelow returns a span below s with an id that identity decides.
func spanBelow(s lifecycle.Span, identity ...string) lifecycle.Span {
	sum := digest(append([]string{string(s.Trace[:])}, identity...))
	below := lifecycle.Span{Trace: s.Trace, ID: lifecycle.SpanID(sum[:8]), Parent: s.ID, Sampled: s.Sampled}
	below.ID[7] |= 1 // a zero id is none
	return below
}

// rootOf returns what the first spans of a new trace are below: it has a trace and no id.
func rootOf(t *actors.Tracing, identity ...string) lifecycle.Span {
	sum := digest(identity)
	root := lifecycle.Span{Trace: lifecycle.TraceID(sum[:16])}
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

// openingSpan returns the span of the initiator of the conversation that e is to open. e.Trace
// names its parent, and is empty without one. The result is zero when e.Trace is no traceparent.
func openingSpan(t *actors.Tracing, e *performatives.Envelope) lifecycle.Span {
	conversation := string(e.ConversationID)
	conversation = cmp.Or(conversation, string(e.ID))
	return sideSpan(t, e.Trace, machine.Initiator, conversation, string(e.ID), e.Sender, e.Receiver)
}

func sideSpan(t *actors.Tracing, parent string, role machine.Role, conversation, first string, self, peer performatives.AgentID) lifecycle.Span {
	initiator := self
	if role == machine.Responder {
		initiator = peer
	}
	above, ok := parseTraceparent(parent)
	switch {
	case ok:
	case parent != "":
		return lifecycle.Span{}
	default:
		above = rootOf(t, "conversation", string(initiator.Fold()), conversation)
	}
	return spanBelow(above, role.String(), string(self.Fold()), string(peer.Fold()), first)
}

// Span returns the span of this side. It is zero without [actors.Options].Tracing. Safe for
// concurrent use.
func (c *Conversation) Span() lifecycle.Span {
	t := c.agent.System().Tracing()
	if t == nil {
		return lifecycle.Span{}
	}
	parent := c.first.Trace()
	if below, ok := c.side.(interface{ parentTrace() string }); ok && c.key.Initiator {
		parent = below.parentTrace()
	}
	return sideSpan(t, parent, c.role(), string(c.key.ID), string(c.first.ID()), c.self, c.key.Peer)
}

// jobSpan returns the span of a job of this side that m has started; m is nil for none.
func (c *Conversation) jobSpan(job string, m *performatives.Message) lifecycle.Span {
	side := c.Span()
	if side.IsZero() {
		return side
	}
	return spanBelow(side, "job", job, hex.EncodeToString(side.ID[:]), string(idOf(m)))
}

// parentTrace returns the traceparent of the caller, empty without one.
func (i *InitiatorSide) parentTrace() string { return i.options.trace }

// traced sets the traceparent of the opening act to the span of this side. The options keep that of
// the caller. An invalid traceparent stays, so that the message is refused for it.
func (i *InitiatorSide) traced(t *actors.Tracing, e *performatives.Envelope) {
	i.options.trace = strings.Clone(e.Trace)
	if s := openingSpan(t, e); !s.IsZero() {
		e.Trace = s.Traceparent()
	}
}
