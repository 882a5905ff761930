package directory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The forms of deltas and states, by their first byte. Numbers are unsigned varints
// (encoding/binary), texts and records have their length before them. A reader skips what follows
// the known fields of a record, so that a later version can add some. A form that a reader does not
// know is an error.
//
//	delta  = 1, owner record, change record
//	state  = 2, { part record }
//	part   = owner record, complete, { change record }
//	owner  = name text, epoch
//	change = number, flags, agent text, [since, [first], [digest], [principal]]
const (
	formDelta = 1
	formState = 2
)

// The flags of a change.
const (
	flagRemoved = 1 << iota
	flagHidden
	flagMoves
	flagDigest
	flagProved // there is a principal; of an earlier version, without its digest
	flagPlaced
	flagHosts
	flagFirst
	flagPrincipal
)

func flag(bit uint64, set bool) uint64 {
	if set {
		return bit
	}
	return 0
}

// maxNumber is the largest number that is read: counting on from it does not overflow.
const maxNumber = 1 << 62

// maxName is the longest name of a node in bytes.
const maxName = 256

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// appendRecord appends what fill appends, with its length before it.
func appendRecord(out []byte, fill func([]byte) []byte) []byte {
	body := fill(nil)
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

func appendDelta(out []byte, owner cluster.Incarnation, c change) []byte {
	return appendChange(appendOwner(append(out, formDelta), owner), c)
}

func appendOwner(out []byte, owner cluster.Incarnation) []byte {
	return appendRecord(out, func(b []byte) []byte {
		return binary.AppendUvarint(appendText(b, owner.Name), owner.Epoch)
	})
}

func appendChange(out []byte, c change) []byte {
	flags := flag(flagRemoved, c.removed) | flag(flagHidden, c.Hidden) | flag(flagMoves, c.Moves) | flag(flagDigest, c.Digest != Digest{}) | flag(flagProved|flagPrincipal, c.Principal != Digest{}) |
		flag(flagPlaced, c.Placed) | flag(flagHosts, c.Hosts) | flag(flagFirst, c.First != 0)
	return appendRecord(out, func(b []byte) []byte {
		b = binary.AppendUvarint(b, c.number)
		b = appendText(binary.AppendUvarint(b, flags), string(c.Agent))
		if c.removed {
			return b
		}
		b = binary.AppendUvarint(b, c.Since)
		if c.First != 0 {
			b = binary.AppendUvarint(b, c.First)
		}
		if flags&flagDigest != 0 {
			b = append(b, c.Digest[:]...)
		}
		if flags&flagPrincipal != 0 {
			b = append(b, c.Principal[:]...)
		}
		return b
	})
}

func appendPart(out []byte, p *part) []byte {
	return appendRecord(out, func(b []byte) []byte {
		b = binary.AppendUvarint(appendOwner(b, p.owner), p.complete)
		for _, key := range slices.Sorted(maps.Keys(p.changes)) {
			b = appendChange(b, p.changes[key])
		}
		return b
	})
}

// stateOfPart is a part as another replica knows it.
type stateOfPart struct {
	owner    cluster.Incarnation
	complete uint64
	changes  []change
}

func readDelta(in []byte) (cluster.Incarnation, change, error) {
	r := reader{rest: in}
	r.form(formDelta, "delta")
	owner := r.owner()
	c := r.change(owner)
	if len(r.rest) > 0 {
		r.fail("bytes follow the change")
	}
	return owner, c, r.err
}

func readState(in []byte) (parts []stateOfPart, err error) {
	r := reader{rest: in}
	r.form(formState, "state")
	names := make(map[string]struct{})
	for r.err == nil && len(r.rest) > 0 {
		body := reader{rest: r.record(), err: r.err}
		p := stateOfPart{owner: body.owner(), complete: body.number()}
		for body.err == nil && len(body.rest) > 0 {
			p.changes = append(p.changes, body.change(p.owner))
		}
		r.err = body.err
		if _, twice := names[p.owner.Name]; twice {
			r.fail(fmt.Sprintf("the node %.64q is there twice", p.owner.Name))
		}
		names[p.owner.Name] = struct{}{}
		parts = append(parts, p)
	}
	return parts, r.err
}

// reader reads a form; after its first error, what it reads does not count.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(text string) {
	if r.err == nil {
		r.err = errors.New("directory: " + text)
	}
}

func (r *reader) tooShort() { r.fail("it ends too early") }

func (r *reader) form(want byte, of string) {
	switch {
	case len(r.rest) == 0:
		r.tooShort()
	case r.rest[0] != want:
		r.fail(fmt.Sprintf("the form %d of a %s is not known, want %d", r.rest[0], of, want))
	default:
		r.rest = r.rest[1:]
	}
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	switch {
	case n > maxNumber:
		r.fail("a number is too large")
	case size <= 0:
		r.tooShort()
	default:
		r.rest = r.rest[size:]
	}
	return n
}

// record returns the bytes of a record or a text, which are part of the input.
func (r *reader) record() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.tooShort()
		return nil
	}
	body := r.rest[:n]
	r.rest = r.rest[n:]
	return body
}

func (r *reader) text(limit int, of string) string {
	text := string(r.record())
	switch {
	case r.err != nil:
	case text == "":
		r.fail(of + " is empty")
	case len(text) > limit:
		r.fail(fmt.Sprintf("%s has %d bytes, the limit is %d", of, len(text), limit))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		r.fail(of + " must be UTF-8 without control characters")
	}
	return text
}

func (r *reader) owner() cluster.Incarnation {
	body := reader{rest: r.record(), err: r.err}
	owner := cluster.Incarnation{Name: body.text(maxName, "the name of a node"), Epoch: body.number()}
	if r.err = body.err; owner.Epoch == 0 {
		r.fail("the epoch of a node is zero")
	}
	return owner
}

func (r *reader) digest() (d Digest) {
	if len(r.rest) < len(d) {
		r.tooShort()
		return d
	}
	r.rest = r.rest[copy(d[:], r.rest):]
	return d
}

func (r *reader) change(owner cluster.Incarnation) change {
	body := reader{rest: r.record(), err: r.err}
	c := change{number: body.number()}
	flags := body.number()
	c.Agent = performatives.AgentID(body.text(performatives.MaxIDLength, "the id of an agent"))
	c.Owner, c.removed = owner, flags&flagRemoved != 0
	if !c.removed {
		c.Hidden, c.Moves = flags&flagHidden != 0, flags&flagMoves != 0
		c.Placed, c.Hosts, c.Since = flags&flagPlaced != 0, flags&flagHosts != 0, body.number()
		if flags&flagFirst != 0 {
			c.First = body.number()
		}
		if flags&flagDigest != 0 {
			c.Digest = body.digest()
		}
		switch {
		case flags&flagPrincipal != 0:
			c.Principal = body.digest()
		case flags&flagProved != 0:
			c.Principal = Digest{0xff} // no principal has it
		}
	}
	if r.err = body.err; c.number == 0 {
		r.fail("the number of a change is zero")
	}
	return c
}
