package grpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
)

// generatedCodec is the codec of this package by generated code, with the same isolation: each
// envelope of a frame is read on its own, and no message shares memory with its frame. The
// tests compare the codec with it, and BenchmarkCodec their speed. It is written to be fast:
// it uses its structs again, and does not copy a payload that generated code has copied.
type generatedCodec struct {
	e                  ribosomev1.Envelope
	replyBy, timestamp timestamppb.Timestamp
}

var pool = sync.Pool{New: func() any { return new(generatedCodec) }}

func (g *generatedCodec) release() {
	proto.Reset(&g.e)
	pool.Put(g)
}

// generatedEncode does what [codec.Encode] does.
func generatedEncode(dst []byte, m *performatives.Message, token string) ([]byte, error) {
	g := pool.Get().(*generatedCodec)
	defer g.release()
	if err := g.set(m); err != nil {
		return dst, err
	}
	g.e.AuthToken = token
	out := protowire.AppendTag(dst, frameEnvelopes, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(proto.Size(&g.e)))
	out, err := proto.MarshalOptions{Deterministic: true, UseCachedSize: true}.MarshalAppend(out, &g.e)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// set copies a message into the envelope.
func (g *generatedCodec) set(m *performatives.Message) (err error) {
	e := &g.e
	e.Id, e.Performative, e.Sender, e.Receiver = string(m.ID()), ribosomev1.Performative(m.Performative()), string(m.Sender()), string(m.Receiver())
	e.ConversationId, e.Protocol, e.InReplyTo, e.ReplyWith = string(m.ConversationID()), m.Protocol(), m.InReplyTo(), m.ReplyWith()
	e.Language, e.Ontology, e.Priority, e.Trace, e.MessageType = m.Language(), m.Ontology(), ribosomev1.Priority(slices.Index(priorities[:], m.Priority())), m.Trace(), m.MessageType()
	if e.ReplyBy, err = timestampOf(&g.replyBy, m.ReplyBy()); err != nil {
		return err
	}
	if e.Timestamp, err = timestampOf(&g.timestamp, m.Timestamp()); err != nil {
		return err
	}
	payload := m.Payload()
	if r, extra, ok := performatives.RefusalIn(payload); ok {
		e.RetryAfterMs = uint64(performatives.RetryAfterMillis(r.RetryAfter))
		r.RetryAfter = 0
		payload = r.Payload(extra)
	}
	if payload != nil {
		if e.Payload, err = checked(performatives.AppendJSON(nil, payload)); err == nil && !bytes.HasPrefix(bytes.TrimSpace(e.Payload), []byte("{")) {
			err = errNoObject
		}
		if err != nil {
			return fmt.Errorf("payload: %w", err)
		}
	}
	if budget := m.Budget(); !budget.IsZero() {
		if e.Budget, err = checked(budget.MarshalJSON()); err != nil {
			return fmt.Errorf("budget: %w", err)
		}
	}
	return g.setMetadata(m)
}

// checked returns JSON, or an error for other text.
func checked(text []byte, err error) ([]byte, error) {
	if err == nil {
		err = checkJSON(text)
	}
	return text, err
}

func (g *generatedCodec) setMetadata(m *performatives.Message) error {
	for name, value := range m.AllMetadata() {
		if len(value) == 0 {
			continue
		}
		if err := checkEntry(name, value); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
		if g.e.Metadata == nil {
			g.e.Metadata = make(map[string][]byte)
		}
		g.e.Metadata[name] = value
	}
	return nil
}

// timestampOf returns at with that time, or nil for no time.
func timestampOf(at *timestamppb.Timestamp, t time.Time) (*timestamppb.Timestamp, error) {
	if t.IsZero() {
		return nil, nil //nolint:nilnil // no time
	}
	at.Seconds, at.Nanos = t.Unix(), int32(t.Nanosecond())
	return at, at.CheckValid()
}

// generatedDecode does what the Decode of a codec does, but answers nothing.
func generatedDecode(opts *wire.CodecOptions, frame []byte, take func(m *performatives.Message, token string, err error)) {
	for len(frame) > 0 {
		num, typ, tag := protowire.ConsumeTag(frame)
		size := -1
		if tag >= 0 && num <= protowire.MaxValidNumber {
			size = protowire.ConsumeFieldValue(num, typ, frame[tag:])
		}
		if size < 0 {
			take(nil, "", errNoFrame())
			return
		}
		if num == frameEnvelopes && typ == protowire.BytesType {
			envelope, _ := protowire.ConsumeBytes(frame[tag:])
			take(generatedMessage(opts, envelope))
		}
		frame = frame[tag+size:]
	}
}

// generatedMessage reads one envelope.
func generatedMessage(opts *wire.CodecOptions, data []byte) (*performatives.Message, string, error) {
	g := pool.Get().(*generatedCodec)
	defer g.release()
	if opts.MaxBytes > 0 && len(data) > opts.MaxBytes {
		return nil, "", errTooLong(opts.MaxBytes)
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &g.e); err != nil {
		return nil, "", err
	}
	out, err := g.get(opts)
	if err != nil {
		return nil, "", err
	}
	m, err := performatives.New(out)
	return m, sockets.Bearer(g.e.AuthToken), err
}

// get returns the contents of the envelope.
func (g *generatedCodec) get(opts *wire.CodecOptions) (out performatives.Envelope, err error) {
	e := &g.e
	act, known := actOf(int32(e.Performative))
	if !known || e.Priority < 0 || int(e.Priority) >= len(priorities) {
		return out, fmt.Errorf("act %d, priority %d", e.Performative, e.Priority)
	}
	out = performatives.Envelope{
		ID: performatives.MessageID(e.Id), Performative: act, Sender: performatives.AgentID(e.Sender), Receiver: performatives.AgentID(e.Receiver),
		ConversationID: performatives.ConversationID(e.ConversationId), Protocol: e.Protocol, InReplyTo: e.InReplyTo, ReplyWith: e.ReplyWith,
		Language: e.Language, Ontology: e.Ontology, Priority: priorities[e.Priority], Trace: e.Trace, MessageType: e.MessageType,
	}
	if out.ReplyBy, err = timeOf(e.ReplyBy); err != nil {
		return out, err
	}
	if out.Timestamp, err = timeOf(e.Timestamp); err != nil {
		return out, err
	}
	if out.Timestamp.IsZero() {
		out.Timestamp = opts.Stamper.Stamp().Time
	}
	for name, value := range e.Metadata {
		if err := checkEntry(name, value); err != nil {
			return out, err
		}
		if out.Metadata == nil {
			out.Metadata = make(performatives.Members, len(e.Metadata))
		}
		out.Metadata[name] = json.RawMessage(value)
	}
	if len(e.Budget) > 0 {
		if err := checkJSON(e.Budget); err != nil {
			return out, err
		}
		out.Budget = performatives.RawContent(e.Budget)
	}
	out.Payload, err = g.payload(opts, act)
	if e.RetryAfterMs != 0 {
		hint(&out, e.RetryAfterMs)
	}
	return out, err
}

// payload decodes the payload. The one of a REQUEST without a registry is the text, which
// need not be copied again.
func (g *generatedCodec) payload(opts *wire.CodecOptions, act performatives.Performative) (any, error) {
	if len(g.e.Payload) > 0 {
		if err := checkJSON(g.e.Payload); err != nil {
			return nil, err
		}
		if opts.Registry == nil && act == performatives.ActRequest && g.e.MessageType == "" {
			return performatives.Raw(g.e.Payload), nil
		}
	}
	return opts.Registry.DecodeTyped(act, g.e.MessageType, g.e.Ontology, g.e.Payload)
}

// timeOf returns the time of a timestamp; nil is none.
func timeOf(t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	return t.AsTime(), t.CheckValid()
}
