package membership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/cluster"
)

// What members send one another beside memberlist's own messages: metadata in each alive message,
// packets of deltas, and the head of the state of a push/pull. Lengths and numbers are varints; the
// first byte is the format's version.
const (
	formatVersion = 1
	maxMeta       = 512 // memberlist's limit
	maxEnded      = 1024

	flagLeaving = 1 << 0
	flagGoodbye = 1 << 1 // the member is about to leave: its end is Left, not Failed
)

var errFormat = errors.New("membership: malformed data")

// meta is a member's description of itself, without its name and its address.
type meta struct {
	epoch   uint64
	links   string
	labels  map[string]string
	leaving bool
	goodbye bool
}

// encode returns the metadata as bytes: the same for equal metadata.
func (m meta) encode() ([]byte, error) {
	var flags byte
	if m.leaving {
		flags |= flagLeaving
	}
	if m.goodbye {
		flags |= flagGoodbye
	}
	b := []byte{formatVersion, flags}
	b = binary.BigEndian.AppendUint64(b, m.epoch) // of fixed length: a raised epoch needs no more room
	b = appendString(b, m.links)
	b = binary.AppendUvarint(b, uint64(len(m.labels)))
	for _, key := range slices.Sorted(maps.Keys(m.labels)) {
		b = appendString(b, key)
		b = appendString(b, m.labels[key])
	}
	if len(b) > maxMeta {
		return nil, fmt.Errorf("%w: %d bytes of at most %d with the address for links and the labels", ErrMetadata, len(b), maxMeta)
	}
	return b, nil
}

// decodeMeta reads what encode has written, and nothing else.
func decodeMeta(b []byte) (meta, error) {
	if len(b) > maxMeta || len(b) < 2 || b[0] != formatVersion || b[1] > flagLeaving|flagGoodbye {
		return meta{}, errFormat
	}
	r := reader{b: b[2:]}
	m := meta{leaving: b[1]&flagLeaving != 0, goodbye: b[1]&flagGoodbye != 0}
	m.epoch = r.uint64()
	m.links = r.string()
	count, last := r.uvarint(), ""
	for i := uint64(0); i < count && r.err == nil; i++ {
		key, value := r.string(), r.string()
		if i > 0 && key <= last {
			return meta{}, errFormat
		}
		if m.labels == nil {
			m.labels = map[string]string{}
		}
		m.labels[key], last = value, key
	}
	if r.err != nil || len(r.b) > 0 || m.epoch == 0 {
		return meta{}, errFormat
	}
	return m, nil
}

// token identifies one run of a process, also when two runs have one name and one epoch.
type token uint64

// memberName is the name by which memberlist knows one incarnation: with a name for each of them,
// memberlist never has two nodes of one name, and its rules about them, which depend on the order
// of messages, are not used.
func memberName(name string, t token) string { return fmt.Sprintf("%s@%016x", name, uint64(t)) }

// splitMemberName is the inverse of memberName.
func splitMemberName(s string) (string, token, error) {
	i := strings.LastIndexByte(s, '@')
	if i < 0 || len(s)-i-1 != 16 || validName(s[:i]) != nil {
		return "", 0, errFormat
	}
	t, err := strconv.ParseUint(s[i+1:], 16, 64)
	if err != nil || s != memberName(s[:i], token(t)) {
		return "", 0, errFormat
	}
	return s[:i], token(t), nil
}

// announcement describes one incarnation. It comes in an alive message or in the state of a
// push/pull.
type announcement struct {
	token  token
	member cluster.Member
	// goodbye means that the member leaves at once.
	goodbye bool
}

// decodeAnnouncement reads memberlist's name, address and metadata of a node.
func decodeAnnouncement(name, address string, b []byte) (announcement, error) {
	base, t, err := splitMemberName(name)
	if err != nil {
		return announcement{}, err
	}
	m, err := decodeMeta(b)
	if err != nil {
		return announcement{}, err
	}
	return announcement{token: t, goodbye: m.goodbye, member: cluster.Member{
		Incarnation: cluster.Incarnation{Name: base, Epoch: m.epoch},
		Gossip:      address, Links: m.links, Labels: m.labels, Leaving: m.leaving,
	}}, nil
}

// delta is one broadcast. The origin numbers its own from 1.
type delta struct {
	origin   token
	sequence uint64
	data     []byte
}

// The kinds of user messages, after the version.
const (
	packetDeltas = 1
	packetBulk   = 2
	packetHead   = 2 // bytes of version and kind
)

// appendDelta adds one delta to a packet.
func appendDelta(b []byte, d delta) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(d.origin))
	b = binary.AppendUvarint(b, d.sequence)
	b = binary.AppendUvarint(b, uint64(len(d.data)))
	return append(b, d.data...)
}

// size returns the number of bytes that appendDelta adds.
func (d delta) size() int {
	return 8 + uvarintLen(d.sequence) + uvarintLen(uint64(len(d.data))) + len(d.data)
}

// decodeDeltas reads the deltas of a packet after its head. They alias b.
func decodeDeltas(b []byte) ([]delta, error) {
	r := reader{b: b}
	var all []delta
	for len(r.b) > 0 {
		d := delta{origin: token(r.uint64()), sequence: r.uvarint()}
		d.data = r.bytes()
		if r.err != nil || d.sequence == 0 || len(d.data) > MaxBroadcast {
			return nil, errFormat
		}
		all = append(all, d)
	}
	return all, nil
}

// ended is an incarnation that is no more: a later run of the name needs a greater epoch.
type ended struct {
	cluster.Incarnation
	token token
}

// encodeState returns the state of a push/pull: the incarnations that ended, and the state of the
// application.
func encodeState(history []ended, state []byte) []byte {
	b := make([]byte, 0, 1+len(history)*48+len(state))
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(len(history)))
	for _, e := range history {
		b = appendString(b, e.Name)
		b = binary.AppendUvarint(b, e.Epoch)
		b = binary.BigEndian.AppendUint64(b, uint64(e.token))
	}
	return append(b, state...)
}

// decodeState is the inverse of encodeState. The state aliases b.
func decodeState(b []byte) ([]ended, []byte, error) {
	if len(b) == 0 || b[0] != formatVersion {
		return nil, nil, errFormat
	}
	r := reader{b: b[1:]}
	count := r.uvarint()
	if count > maxEnded {
		return nil, nil, errFormat
	}
	var history []ended
	for range count {
		e := ended{Incarnation: cluster.Incarnation{Name: r.string(), Epoch: r.uvarint()}, token: token(r.uint64())}
		if r.err != nil || e.Epoch == 0 || validName(e.Name) != nil {
			return nil, nil, errFormat
		}
		history = append(history, e)
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	return history, r.b, nil
}

// reader reads values from the front of b. After an error it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() { r.b, r.err = nil, errFormat }

// uvarint reads a varint in its shortest form.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n != uvarintLen(v) {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) string() string { return string(r.bytes()) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
