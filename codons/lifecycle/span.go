package lifecycle

import "encoding/hex"

// TraceID identifies a trace (W3C Trace Context §3.2.2.3). It is never zero in a [Span] that is not
// zero.
type TraceID [16]byte

// SpanID identifies a span in its trace (W3C Trace Context §3.2.2.4).
type SpanID [8]byte

// Span is the place of one side of a conversation, or of one run of a job, in a distributed trace.
// With [actors.Options].Tracing, each has one. It is computed from the ids of agents and messages,
// so that it is the same wherever and whenever it is needed. The zero Span means none.
//
// The parent of a responder's span is the span in the traceparent of its first message: the
// initiator's, when the initiator's system traces too. The parent of a job's span is that of its
// side. The parent of an initiator's span is the job from which the conversation was begun, or what
// [codons.WithTrace] names.
type Span struct {
	Trace   TraceID
	ID      SpanID
	Parent  SpanID // zero: the trace begins with the span
	Sampled bool   // whether the trace is to be kept, as its first span decides
}

// IsZero reports whether s is the zero Span.
func (s Span) IsZero() bool { return s == Span{} }

// Traceparent returns the traceparent with which other spans name s as their parent (W3C Trace
// Context §3.2), empty for the zero Span.
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
