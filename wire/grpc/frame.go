package grpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// appendWire appends a frame of a session's as the bytes of a Frame. Data is that
// already.
func appendWire(dst []byte, f wire.Frame) []byte {
	switch f.Kind {
	case wire.KindData:
		return append(dst, f.Data...)
	case wire.KindPing:
		return appendSignal(dst, framePing, appendBytes(nil, signalData, f.Data))
	case wire.KindPong:
		return appendSignal(dst, framePong, appendBytes(nil, signalData, f.Data))
	case wire.KindError:
		return appendSignal(dst, frameError, appendError(nil, f.Err))
	case wire.KindClose:
		return appendSignal(dst, frameClose, appendBytes(nil, signalData, f.Data))
	}
	return dst
}

// appendSignal appends a field of Frame, which is there even when it is empty.
func appendSignal(dst []byte, num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), body)
}

func appendError(dst []byte, r *performatives.Refusal) []byte {
	if r == nil {
		r = &performatives.Refusal{Code: performatives.CodeInternal}
	}
	text := r.Text
	if text == "" {
		text = r.Code.Traits().Text
	}
	dst = appendString(dst, errorCode, string(r.Code))
	dst = appendString(dst, errorText, text)
	dst = appendString(dst, errorAbout, string(r.About))
	return appendString(dst, errorField, r.Field)
}

// field is one field of a Frame: its number if it is one of ours, else 0, and how many
// bytes it takes, which is negative where there is no protobuf.
func field(b []byte) (num protowire.Number, size int) {
	num, typ, tag := protowire.ConsumeTag(b)
	if tag < 0 {
		return 0, tag
	}
	size = protowire.ConsumeFieldValue(num, typ, b[tag:])
	if size < 0 {
		return 0, size
	}
	if typ != protowire.BytesType || num > frameClose {
		num = 0
	}
	return num, tag + size
}

// signal reads a field of a Frame that is no envelope.
func signal(num protowire.Number, b []byte) (wire.Frame, bool) {
	_, _, tag := protowire.ConsumeTag(b)
	body, _ := protowire.ConsumeBytes(b[tag:])
	f := wire.Frame{Kind: kindOf(num)}
	if f.Kind == wire.KindError {
		f.Err = &performatives.Refusal{}
	}
	ok := eachField(body, func(n protowire.Number, text []byte, _ uint64) {
		switch {
		case text == nil:
		case f.Err != nil:
			readError(f.Err, n, text)
		case n == signalData:
			f.Data = text
		}
	})
	return f, ok
}

// kindOf is the kind of a signal.
func kindOf(num protowire.Number) wire.Kind {
	switch num {
	case framePing:
		return wire.KindPing
	case framePong:
		return wire.KindPong
	case frameError:
		return wire.KindError
	default:
		return wire.KindClose
	}
}

// maxErrorText is how much of what a peer says about an error is kept.
const maxErrorText = 512

// readError reads a field of an Error. What could not be an id or a code is not believed.
func readError(r *performatives.Refusal, num protowire.Number, text []byte) {
	switch num {
	case errorCode:
		r.Code = performatives.Code(legible(string(text)))
	case errorText:
		r.Text = sockets.Clean(text, maxErrorText)
	case errorAbout:
		r.About = performatives.MessageID(legible(string(text)))
	case errorField:
		r.Field = legible(string(text))
	}
}
