package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
)

// translateCmd is ribosome translate.
type translateCmd struct {
	From string `required:"" placeholder:"DIALECT" help:"Dialect of the messages on stdin: acl, bridge, rag, rossnet or gateway"`
	To   string `required:"" placeholder:"DIALECT" help:"Dialect of the messages on stdout"`
}

// run reads JSON objects from stdin, one after the other, and writes each in the other dialect, one
// a line. What that dialect cannot express goes to stderr, field by field. After a message that is
// refused it goes on with the next, and fails at the end: with exitNothing if the other dialect can
// express none of them.
func (c *translateCmd) run(ctx context.Context, std streams) error {
	t, err := newTranslation(c.From, c.To)
	if err != nil {
		return err
	}
	text, err := readAll(std.in, wire.DefaultMaxFrame)
	if err != nil {
		return usagef("stdin: %v", err)
	}
	frames := split(text)
	if len(frames) == 0 {
		return usagef("nothing on stdin; give messages, such as < message.json")
	}
	out, notes := newPrinter(std.out), newPrinter(std.err)
	refused, invalid, written := 0, 0, 0
	for i, frame := range frames {
		if ctx.Err() != nil || out.broken() {
			break
		}
		r := t.translate(frame)
		if r.frame != nil {
			out.text(string(r.frame) + "\n")
			written++
		}
		for _, note := range r.notes {
			notes.line(fmt.Sprintf("message %d: %s", i+1, note))
		}
		if r.answer != nil {
			notes.text(string(r.answer) + "\n")
		}
		if r.refused {
			refused++
		}
		if r.invalid {
			invalid++
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if written == 0 && invalid < len(frames) {
		return &commandError{exitNothing, "nothing is left to write in " + c.To}
	}
	if refused > 0 {
		return failf("%d of %d messages were refused", refused, len(frames))
	}
	return nil
}

// split returns the JSON values of a text. Text that is no JSON ends with its line, and a value
// without an end with the text.
func split(text []byte) (frames [][]byte) {
	for text = bytes.TrimSpace(text); len(text) > 0; text = bytes.TrimSpace(text) {
		var value json.RawMessage
		d := json.NewDecoder(bytes.NewReader(text))
		n := len(text)
		switch err := d.Decode(&value); {
		case err == nil:
			n = int(d.InputOffset())
		case errors.Is(err, io.ErrUnexpectedEOF):
		default:
			if end := bytes.IndexByte(text, '\n'); end >= 0 {
				n = end
			}
		}
		frames = append(frames, text[:n])
		text = text[n:]
	}
	return frames
}

// translation has the codecs of both dialects. An answer is written by the end that has got its
// request, which is why there are two of the other dialect: each reads what the other writes.
type translation struct {
	from, to   string
	read       wire.Codec
	asks       wire.Codec
	answers    wire.Codec
	translated map[string]*performatives.Message // as the answering end has them, by the id and the reply_with
	clock      *clock
}

func newTranslation(from, to string) (t *translation, err error) {
	t = &translation{from: from, to: to, translated: make(map[string]*performatives.Message), clock: &clock{time.Now().UTC()}}
	if t.read, err = t.open("--from", from, false); err != nil {
		return nil, err
	}
	if t.asks, err = t.open("--to", to, true); err != nil {
		return nil, err
	}
	if t.answers, err = t.open("--to", to, false); err != nil {
		return nil, err
	}
	if from == gateway.Name {
		asks, err := t.open("--from", from, true)
		if err != nil {
			return nil, err
		}
		t.read = gatewayMessages{t.read, asks, make(map[string]sentRequest)}
	}
	return t, nil
}

// open returns a codec of the dialect that a flag names.
func (t *translation) open(flag, name string, initiator bool) (wire.Codec, error) {
	d, err := dialectNamed(flag, name)
	if err != nil {
		return nil, err
	}
	return codecOf(d, wire.CodecOptions{Local: systemAgent, Initiator: initiator, Stamper: t.clock, MaxBytes: wire.DefaultMaxFrame})
}

// clock makes stamps. It stands still while a frame is translated. A dialect that writes the
// remaining time would else give its reader another deadline, the later the slower the machine is.
type clock struct{ now time.Time }

// Stamp returns a random id and the time.
func (c *clock) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: c.now}
}

// translated is what becomes of a message.
type translated struct {
	frame   []byte   // in the other dialect; nil for none
	notes   []string // what it lacks, or why there is none
	answer  []byte   // the refusal in the dialect of the message
	refused bool
	invalid bool // it is no message of its dialect
}

// translate reads one frame and writes it in the other dialect.
func (t *translation) translate(frame []byte) (r translated) {
	t.clock.now = time.Now().UTC()
	t.read.Decode(frame, func(in wire.Inbound) {
		switch {
		case in.Err != nil:
			r.refused, r.invalid, r.answer = true, true, in.Answer
			r.notes = append(r.notes, fmt.Sprintf("%s refuses it: %v", t.from, in.Err))
		case in.Message == nil:
			r.notes = append(r.notes, fmt.Sprintf("%s itself answers it; no agent gets it", t.from))
		default:
			t.write(&r, in.Message, bytes.Contains(frame, []byte(in.Message.ID())))
		}
	})
	return r
}

// write writes a message, and notes what its reader does not get of it. The id of a message without
// one, which the codec has made (named is false), is no loss.
func (t *translation) write(r *translated, m *performatives.Message, named bool) {
	writer, reader := t.asks, t.answers
	written := m
	if request := t.translated[m.InReplyTo()]; request != nil && m.InReplyTo() != "" && !m.Performative().ExpectsReply() {
		writer, reader = t.answers, t.asks
		if answer, err := m.With(func(e *performatives.Envelope) {
			e.InReplyTo, e.ConversationID = string(request.ID()), request.ConversationID()
		}); err == nil {
			written = answer
		}
	}
	frame, err := writer.Encode(nil, written)
	switch {
	case err != nil:
		r.refused = true
		r.notes = append(r.notes, fmt.Sprintf("%s cannot express it: %v", t.to, publicReason(err)))
		return
	case len(frame) == 0:
		r.notes = append(r.notes, fmt.Sprintf("%s has no form for %s here", t.to, m.Performative()))
		return
	}
	if r.frame != nil { // of a batch
		r.frame = append(r.frame, '\n')
	}
	r.frame = append(r.frame, frame...)
	reader.Decode(frame, func(in wire.Inbound) {
		if in.Message == nil {
			return
		}
		t.translated[string(m.ID())] = in.Message
		if with := m.ReplyWith(); with != "" {
			t.translated[with] = in.Message
		}
		for _, name := range lost(m, in.Message) {
			if name == fieldMessageID && !named {
				continue
			}
			r.notes = append(r.notes, fmt.Sprintf("%s cannot be expressed in %s", name, t.to))
		}
	})
}

// publicReason returns the text of a refusal without its code.
func publicReason(err error) string {
	if r := performatives.RefusalOf(err); r != nil && r.Text != "" {
		return r.Text
	}
	return err.Error()
}

// fieldMessageID is the name of the id of a message.
const fieldMessageID = "message_id"

// lost returns the names of the fields of a message that its reader in another dialect does not
// have, or has with another value.
func lost(m, got *performatives.Message) (names []string) {
	ours, theirs := fieldsOf(m), fieldsOf(got)
	if by := got.ReplyBy(); !by.IsZero() && m.ReplyBy().Sub(by).Abs() < time.Second { // a dialect may write the time that is left
		delete(ours, "reply_by")
	}
	for _, object := range []string{"payload", "metadata"} {
		own, _ := ours[object].(map[string]any)
		other, _ := theirs[object].(map[string]any)
		names = append(names, lostMembers(object+".", own, other)...)
		delete(ours, object)
	}
	return append(lostMembers("", ours, theirs), names...)
}

// fieldsOf returns the fields of a message by their names in acl, with exact numbers. It leaves out
// the priority of the payload, which is that of the message.
func fieldsOf(m *performatives.Message) map[string]any {
	record, _ := m.JSON() // a codec has made it of JSON
	record.Sender, record.Receiver, record.Timestamp = m.Sender().Fold(), m.Receiver().Fold(), m.Timestamp().UTC()
	record.Language = strings.TrimPrefix(record.Language, performatives.LanguageJSON)
	text, _ := json.Marshal(record)
	fields := make(map[string]any)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&fields)
	if fields["conversation_id"] == fields["id"] { // it is of its own
		delete(fields, "conversation_id")
	}
	fields[fieldMessageID], fields["priority"] = fields["id"], m.Priority().String()
	delete(fields, "id")
	delete(fields, "payload_type")
	if payload, ok := fields["payload"].(map[string]any); ok {
		delete(payload, "priority")
	}
	return fields
}

// lostMembers returns the paths of the members that the other object lacks, or has with another
// value, behind the path of both.
func lostMembers(path string, ours, theirs map[string]any) (names []string) {
	for name, v := range ours {
		if other, ok := theirs[name]; !ok && v != nil || ok && !reflect.DeepEqual(v, other) {
			names = append(names, path+name)
		}
	}
	slices.Sort(names)
	return names
}

// bridgeMessages reads and writes messages of bridge by themselves: no handshake of a connection
// comes before them.
type bridgeMessages struct {
	codec   *bridge.Codec
	stamper performatives.Stamper
}

var _ wire.Codec = bridgeMessages{}

// codecOf returns the codec by which a message of a dialect is translated.
func codecOf(d wire.Dialect, o wire.CodecOptions) (wire.Codec, error) {
	if _, ok := d.(bridge.Dialect); !ok {
		return d.Open(o)
	}
	return bridgeMessages{bridge.New(o), o.Stamper}, nil
}

// Decode reads one message.
func (b bridgeMessages) Decode(frame []byte, take func(wire.Inbound)) {
	m, err := b.codec.Decode(frame)
	var refused *bridge.DecodeError
	if errors.As(err, &refused) {
		take(wire.Inbound{Err: refused.Refusal, Answer: refused.Answer(systemAgent, b.stamper.Stamp())})
		return
	}
	take(wire.Inbound{Message: m})
}

// Encode writes one message.
func (b bridgeMessages) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	return b.codec.Append(dst, m)
}

// Refuse writes nothing: a message that was read is not refused.
func (bridgeMessages) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

// gatewayMessages reads requests of the gateway, and their responses after them. A response has
// only the id of its request, so that the end reads it which has sent that.
type gatewayMessages struct {
	wire.Codec
	asks wire.Codec // sends the requests that were read
	sent map[string]sentRequest
}

// sentRequest is a request as gatewayMessages.asks has sent it, by the id with which it came.
type sentRequest struct {
	id json.RawMessage
	to performatives.AgentID
}

// members are those of an object; nil for any other value.
type members map[string]json.RawMessage

func membersOf(value []byte) (m members) {
	_ = json.Unmarshal(value, &m) // m stays nil
	return m
}

// Decode reads a frame.
func (g gatewayMessages) Decode(frame []byte, take func(wire.Inbound)) {
	envelope := membersOf(frame)
	payload := membersOf(envelope["mcp_payload"])
	if payload == nil { // without an envelope
		envelope, payload = nil, envelope
	}
	key := string(payload["id"])
	if request, ok := g.sent[key]; ok && payload["method"] == nil {
		delete(g.sent, key)
		if answer := request.answer(envelope, payload); answer != nil {
			g.asks.Decode(answer, take)
			return
		}
	}
	g.Codec.Decode(frame, func(in wire.Inbound) {
		if m := in.Message; m != nil && key != "" && m.Performative().ExpectsReply() {
			if sent, err := g.asks.Encode(nil, m); err == nil {
				g.sent[key] = sentRequest{membersOf(membersOf(sent)["mcp_payload"])["id"], m.Receiver()}
			}
		}
		take(in)
	})
}

// answer returns a response as the answer to the request that was sent; nil if it is none.
func (r sentRequest) answer(envelope, payload members) []byte {
	if envelope == nil {
		own, _ := json.Marshal(map[string]any{"id": performatives.NewID(), "timestamp": time.Now().UTC(), "source": r.to}) // they always have a JSON form
		envelope = membersOf(own)
	}
	var err error
	payload["id"] = r.id
	if envelope["mcp_payload"], err = json.Marshal(payload); err != nil {
		return nil
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil
	}
	return text
}
