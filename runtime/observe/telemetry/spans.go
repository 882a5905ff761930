package telemetry

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/performatives"
)

// IDs gives the spans of a [Telemetry] the ids that their conversations have in messages, and any
// other span random ones. It is the IDGenerator of OpenTelemetry's SDK. The zero IDs is ready and
// safe for concurrent use.
type IDs struct{}

// idsKey is the key of the [lifecycle.Span] of the span that is to be made.
type idsKey struct{}

// NewIDs returns the ids of the first span of a trace.
func (IDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if s, ok := ctx.Value(idsKey{}).(lifecycle.Span); ok {
		return trace.TraceID(s.Trace), trace.SpanID(s.ID)
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // an id of a span is no secret
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // an id of a span is no secret
	return id, randomSpan()
}

// NewSpanID returns the id of a span of a trace.
func (IDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if s, ok := ctx.Value(idsKey{}).(lifecycle.Span); ok {
		return trace.SpanID(s.ID)
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // an id of a span is no secret
	return id
}

// ContextOf returns the ctx of a handler with the span of its job. Spans that the program begins
// with it are below the job's. Any other context is returned as it is.
func ContextOf(ctx context.Context) context.Context {
	s := codons.SpanOf(ctx)
	if s.IsZero() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, spanContext(s, s.ID))
}

func spanContext(s lifecycle.Span, id lifecycle.SpanID) trace.SpanContext {
	c := trace.SpanContextConfig{TraceID: trace.TraceID(s.Trace), SpanID: trace.SpanID(id), Remote: true}
	if s.Sampled {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(c)
}

// spans makes a span of each side and job that has ended.
type spans struct {
	tracer trace.Tracer
	text   func(string) string // see [Options].FailureText
}

func (s *spans) conversation(e *lifecycle.Ended) {
	// The agent is the one that is asked, on both sides.
	kind, agent := trace.SpanKindServer, e.Agent
	if e.Role == machine.Initiator {
		kind, agent = trace.SpanKindClient, e.Peer
	}
	s.span(e.Span, operationAgent+" "+string(agent), kind, e.Began, e.Time, e.Code, append(attributes(e.Subject),
		attribute.String(attrOperation, operationAgent), attribute.String(attrAgent, string(agent)), attribute.String(attrState, string(e.State))), nil)
}

func (s *spans) job(e *lifecycle.JobEnded) {
	name, all := e.Protocol+" "+e.Job, append(attributes(e.Subject), attribute.String(attrAgent, string(e.Agent)), attribute.String(attrJob, e.Job))
	if e.Protocol == tool.Codon.Name() {
		name, all = operationTool, append(all, attribute.String(attrOperation, operationTool))
		if e.Label != "" {
			name, all = operationTool+" "+e.Label, append(all, attribute.String(attrTool, e.Label))
		}
	}
	s.span(e.Span, name, trace.SpanKindInternal, e.Began, e.Time, e.Code, all, e.Err)
}

func attributes(s *lifecycle.Subject) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String(attrConversation, string(s.Conversation)), attribute.String(attrPeer, string(s.Peer)),
		attribute.String(attrProtocol, s.Protocol), attribute.String(attrRole, s.Role.String()),
	}
}

func (s *spans) span(as lifecycle.Span, name string, kind trace.SpanKind, began, ended time.Time, code performatives.Code, all []attribute.KeyValue, failure error) {
	if !as.Sampled {
		return
	}
	ctx := context.WithValue(none, idsKey{}, as)
	if as.Parent != (lifecycle.SpanID{}) {
		ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(as, as.Parent))
	}
	if code != "" {
		all = append(all, attribute.String(attrErrorType, known(code)))
	}
	_, span := s.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(began), trace.WithAttributes(all...))
	if failure != nil && s.text != nil {
		span.AddEvent("exception", trace.WithTimestamp(ended), trace.WithAttributes(s.exception(failure)...))
	}
	if code != "" {
		span.SetStatus(codes.Error, known(code))
	}
	span.End(trace.WithTimestamp(ended))
}

// known returns a code of the runtime's, and other for one that an agent has made up.
func known(code performatives.Code) string {
	if code.Known() {
		return string(code)
	}
	return other
}

// exception returns the attributes of the event of a failure, as the semantic conventions of
// OpenTelemetry have them.
func (s *spans) exception(failure error) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("exception.message", s.text(failure.Error()))}
	of := any(failure)
	if p, is := errors.AsType[*actors.PanicError](failure); is {
		of = p.Value
		all = append(all, attribute.String("exception.stacktrace", string(p.Stack)))
	}
	return append(all, attribute.String("exception.type", fmt.Sprintf("%T", of)))
}
