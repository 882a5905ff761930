package link

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The fields of LinkFrame in ribosome.proto.
const (
	fieldEnvelope = 1
	fieldHello    = 6
	fieldFirst    = 7
	fieldAck      = 8
	fieldSent     = 9
	fieldOrigin   = 10
	fieldControl  = 11
	fieldBye      = 12
	fieldLast     = 13
	fieldWait     = 14
)

// The fields of LinkHello.
const (
	helloFrom       = 1
	helloFromEpoch  = 2
	helloTo         = 3
	helloToEpoch    = 4
	helloSession    = 5
	helloTheirs     = 6
	helloReceived   = 7
	helloFloor      = 8
	helloMinVersion = 9
	helloMaxVersion = 10
	helloTable      = 11
)

// The fields of LinkTable.
const (
	entryKey   = 1
	entryValue = 2
)

// The fields of LinkOrigin.
const (
	originIndex      = 1
	originPrincipal  = 2
	originActivation = 3
	originAnswers    = 4
	originForwards   = 5
)

// The limits of what a hello may have.
const (
	maxTables = 4096
	maxText   = 1024 // bytes of a name or a reason
)

// frame is one gRPC message of a link.
type frame struct {
	hello     *hello
	first     uint64   // the sequence number of the first envelope; the others follow it
	envelopes [][]byte // each is a Frame of one envelope, as package grpc writes it
	origins   []originOf
	sent      int64  // the clock of the sender, in nanoseconds since 1970
	ack       uint64 // all messages up to this number were received; zero: it says nothing
	controls  [][]byte
	bye       string
	last      bool   // the sender takes in nothing more, of this session, than it has acknowledged with this frame
	wait      uint64 // how long messages of the sender wait, in milliseconds: see Links.Wait
}

// originOf is the origin of one of the envelopes.
type originOf struct {
	index int
	performatives.Origin
}

// hello is the first frame of each end.
type hello struct {
	from, to               cluster.Incarnation
	session                uint64 // in which the sender sends
	theirs, received       uint64 // the session of the other end that it knows, and the last message that it has received in it
	floor                  uint64 // the least session of the other end that it takes
	minVersion, maxVersion uint64
	tables                 map[string]uint64
}

// short is the length in bytes below which an envelope is copied rather than being a part of its
// own.
const short = 8 << 10

// reset empties a frame, and keeps the memory of its lists.
func (f *frame) reset() { *f = frame{envelopes: emptied(f.envelopes), origins: emptied(f.origins)} }

// maxKept is the largest number of elements for which an emptied list keeps memory. A frame of 17
// MiB can have millions of messages of no length.
const maxKept = 4096

// emptied empties a list that is used again.
func emptied[T any](list []T) []T {
	if cap(list) > maxKept {
		return nil
	}
	clear(list)
	return list[:0]
}

// parts returns the frame in parts that follow one another. Long envelopes are parts themselves, so
// that they are not copied. The others are in a slice of memory.
func (f *frame) parts(memory func(capacity int) []byte) [][]byte {
	copied, long := 64+64*len(f.origins), 0 // a length that those of appendHead and of the short envelopes seldom exceed
	for _, c := range f.controls {
		copied += 8 + len(c)
	}
	for _, e := range f.envelopes {
		if len(e) < short {
			copied += len(e)
		} else {
			long++
		}
	}
	all := make([][]byte, 0, 1+2*long)
	out, begin := f.appendHead(memory(copied)), 0
	for _, e := range f.envelopes {
		if len(e) < short {
			out = append(out, e...)
			continue
		}
		if begin < len(out) {
			all = append(all, out[begin:])
			begin = len(out)
		}
		all = append(all, e)
	}
	if begin < len(out) {
		all = append(all, out[begin:])
	}
	return all
}

func (f *frame) append(out []byte) []byte {
	return append(out, slices.Concat(f.parts(newMemory)...)...)
}

// appendHead appends all but the envelopes.
func (f *frame) appendHead(out []byte) []byte {
	if f.hello != nil {
		out = protofield.AppendText(out, fieldHello, f.hello.append(nil))
	}
	out = protofield.AppendNumber(out, fieldFirst, f.first)
	out = protofield.AppendNumber(out, fieldAck, f.ack)
	out = protofield.AppendNumber(out, fieldSent, uint64(f.sent))
	for i := range f.origins {
		out = protofield.AppendText(out, fieldOrigin, f.origins[i].append(nil))
	}
	for _, c := range f.controls { // also an empty one
		out = protowire.AppendBytes(protowire.AppendTag(out, fieldControl, protowire.BytesType), c)
	}
	out = protofield.AppendText(out, fieldBye, f.bye)
	if f.last {
		out = protofield.AppendNumber(out, fieldLast, 1)
	}
	return protofield.AppendNumber(out, fieldWait, f.wait)
}

func (h *hello) append(out []byte) []byte {
	out = protofield.AppendNumber(protofield.AppendText(out, helloFrom, h.from.Name), helloFromEpoch, h.from.Epoch)
	out = protofield.AppendNumber(protofield.AppendText(out, helloTo, h.to.Name), helloToEpoch, h.to.Epoch)
	out = protofield.AppendNumber(out, helloSession, h.session)
	out = protofield.AppendNumber(out, helloTheirs, h.theirs)
	out = protofield.AppendNumber(out, helloReceived, h.received)
	out = protofield.AppendNumber(out, helloFloor, h.floor)
	out = protofield.AppendNumber(out, helloMinVersion, h.minVersion)
	out = protofield.AppendNumber(out, helloMaxVersion, h.maxVersion)
	for _, name := range slices.Sorted(maps.Keys(h.tables)) {
		out = protofield.AppendText(out, helloTable, protofield.AppendNumber(protofield.AppendText(nil, entryKey, name), entryValue, h.tables[name]))
	}
	return out
}

// readFrame reads a frame, whose parts are those of in.
func readFrame(in []byte) (*frame, error) {
	f := new(frame)
	if err := f.read(in); err != nil {
		return nil, err
	}
	return f, nil
}

// read is readFrame for a frame that is empty.
func (f *frame) read(in []byte) error {
	valid := true
	for valid && len(in) > 0 {
		num, bytes, n, size := protofield.Next(in)
		if size < 0 {
			return streamError("the frame is malformed")
		}
		switch num {
		case fieldEnvelope:
			f.envelopes, valid = append(f.envelopes, in[:size]), bytes != nil
		case fieldHello:
			f.hello, valid = readHello(bytes)
		case fieldFirst:
			f.first = n
		case fieldAck:
			f.ack = n
		case fieldSent:
			f.sent = int64(n)
		case fieldOrigin:
			var o originOf
			o, valid = readOrigin(bytes)
			f.origins = append(f.origins, o)
		case fieldControl:
			f.controls, valid = append(f.controls, bytes), bytes != nil
		case fieldBye:
			f.bye = cmp.Or(text(bytes), "without a reason")
		case fieldLast:
			f.last = n != 0
		case fieldWait:
			f.wait = n
		}
		in = in[size:]
	}
	alone := f.hello == nil || len(f.envelopes)+len(f.controls) == 0 && f.ack == 0 && f.bye == "" && !f.last
	if !valid || !alone {
		return streamError("the frame is malformed")
	}
	for i, o := range f.origins {
		if o.index >= len(f.envelopes) || i > 0 && o.index <= f.origins[i-1].index {
			return streamError("the frame is malformed")
		}
	}
	return nil
}

// text returns a text that is valid and not too long, else nothing.
func text(b []byte) string {
	if len(b) > maxText || !utf8.Valid(b) {
		return ""
	}
	return string(b)
}

func (o *originOf) append(out []byte) []byte {
	out = protofield.AppendNumber(out, originIndex, uint64(o.index))
	out = protofield.AppendText(out, originPrincipal, o.Principal)
	out = protofield.AppendNumber(out, originActivation, o.Activation)
	out = protofield.AppendNumber(out, originAnswers, o.Answers)
	return protofield.AppendNumber(out, originForwards, uint64(o.Forwards))
}

func readOrigin(in []byte) (o originOf, ok bool) {
	ok = protofield.Each(in, func(num protowire.Number, bytes []byte, n uint64) {
		switch num {
		case originIndex:
			o.index = int(min(n, MaxMessage)) // there are fewer envelopes
		case originPrincipal:
			o.Principal = text(bytes)
		case originActivation:
			o.Activation = n
		case originAnswers:
			o.Answers = n
		case originForwards:
			o.Forwards = int(min(n, performatives.MaxForwards))
		}
	})
	return o, ok && o.Origin != (performatives.Origin{})
}

func readHello(in []byte) (*hello, bool) {
	h, valid := &hello{tables: make(map[string]uint64)}, true
	numbers := map[protowire.Number]*uint64{
		helloFromEpoch: &h.from.Epoch, helloToEpoch: &h.to.Epoch, helloSession: &h.session, helloTheirs: &h.theirs,
		helloReceived: &h.received, helloFloor: &h.floor, helloMinVersion: &h.minVersion, helloMaxVersion: &h.maxVersion,
	}
	ok := protofield.Each(in, func(num protowire.Number, bytes []byte, n uint64) {
		switch num {
		case helloFrom:
			h.from.Name = text(bytes)
		case helloTo:
			h.to.Name = text(bytes)
		case helloTable:
			var name string
			var hash uint64
			read := protofield.Each(bytes, func(num protowire.Number, bytes []byte, n uint64) {
				switch num {
				case entryKey:
					name = text(bytes)
				case entryValue:
					hash = n
				}
			})
			valid = valid && read && name != "" && len(h.tables) < maxTables
			h.tables[name] = hash
		default:
			if to := numbers[num]; to != nil {
				*to = n
			}
		}
	})
	return h, ok && valid && h.from.Name != "" && h.to.Name != "" && h.from.Epoch != 0 && h.to.Epoch != 0 && h.session != 0
}
