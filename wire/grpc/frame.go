package grpc

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// appendWire appends a frame of a session as the bytes of a Frame. A data frame has these
// bytes already.
func appendWire(dst []byte, f wire.Frame) []byte {
	switch f.Kind {
	case wire.KindData:
		return append(dst, f.Data...)
	case wire.KindError:
		return appendSignal(dst, frameError, appendError(nil, f.Err))
	case wire.KindPing, wire.KindPong, wire.KindClose:
		return appendSignal(dst, protowire.Number(f.Kind), protofield.AppendText(nil, signalData, f.Data))
	}
	return dst
}

// appendSignal appends a field of Frame, even if its value is empty.
func appendSignal(dst []byte, num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), body)
}

func appendError(dst []byte, r *performatives.Refusal) []byte {
	if r == nil {
		r = &performatives.Refusal{Code: performatives.CodeInternal}
	}
	text := cmp.Or(r.Text, r.Code.Traits().Text)
	dst = protofield.AppendText(dst, errorCode, r.Code)
	dst = protofield.AppendText(dst, errorText, text)
	dst = protofield.AppendText(dst, errorAbout, r.About)
	return protofield.AppendText(dst, errorField, r.Field)
}

// field returns the number of the first field of a Frame, or 0 for an unknown field, and
// the size of the field in bytes, which is negative for malformed protobuf.
func field(b []byte) (num protowire.Number, size int) {
	num, text, _, size := protofield.Next(b)
	if text == nil || num > frameClose {
		num = 0
	}
	return num, size
}

// signal reads a field of a Frame that is no envelope.
func signal(num protowire.Number, b []byte) (wire.Frame, bool) {
	_, body, _, _ := protofield.Next(b)
	f := wire.Frame{Kind: wire.Kind(num)} // the kinds have these numbers
	if f.Kind == wire.KindError {
		f.Err = &performatives.Refusal{}
	}
	ok := protofield.Each(body, func(n protowire.Number, text []byte, _ uint64) {
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

// maxErrorText is the longest error text of a peer that is kept, in bytes.
const maxErrorText = 512

// readError reads a field of an Error. It drops texts that cannot be an id or a code.
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
