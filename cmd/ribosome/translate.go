package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
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
