package membership

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/ribosome-agents/ribosome/internal/patience"
)

// claim is a claim about a member, as memberlist sends it in a packet: of suspicion, life or death.
type claim struct {
	Incarnation uint32
	Node, From  string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Vsn         []byte
}

// peerClaim is a member in a push/pull.
type peerClaim struct {
	Name        string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Incarnation uint32
	State       int
	Vsn         []byte
}

var versions = []byte{1, 5, 2, 0, 0, 0}

func packed(t testing.TB, kind byte, values ...any) []byte {
	t.Helper()
	b := bytes.NewBuffer([]byte{kind})
	for _, v := range values {
		if err := codec.NewEncoder(b, &codec.MsgpackHandle{}).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func labelled(b []byte) []byte {
	return append(append([]byte{typeLabel, byte(len(label))}, label...), b...)
}

func summed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{typeCRC}, crc32.ChecksumIEEE(b)), b...)
}

func compound(parts ...[]byte) []byte {
	b := []byte{typeCompound, byte(len(parts))}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	}
	return append(b, bytes.Join(parts, nil)...)
}

func TestDefuse(t *testing.T) {
	t.Parallel()
	ping := packed(t, 0, struct{ SeqNo uint32 }{7})
	of := func(kind byte, number uint32) []byte {
		return packed(t, kind, claim{Incarnation: number, Node: "n@0", From: "x"})
	}
	for name, one := range map[string]struct {
		packet []byte
		found  bool
		types  []byte // of the messages afterwards
	}{
		"nothing":         {nil, false, nil},
		"a ping":          {ping, false, []byte{0}},
		"a late claim":    {of(typeSuspect, maxClaim), false, []byte{typeSuspect}},
		"suspicion":       {of(typeSuspect, maxClaim+1), true, []byte{typeUser}},
		"life":            {of(typeAlive, math.MaxUint32), true, []byte{typeUser}},
		"death":           {of(typeDead, math.MaxUint32), true, []byte{typeUser}},
		"by position":     {append([]byte{typeDead, 0x93, 0xce, 0xff, 0xff, 0xff, 0xff}, 0xa1, 'n', 0xa1, 'x'), true, []byte{typeUser}},
		"compressed":      {[]byte{typeCompress, 1}, true, []byte{typeUser}},
		"among others":    {compound(ping, of(typeDead, math.MaxUint32), of(typeAlive, 3)), true, []byte{0, typeUser, typeAlive}},
		"nested":          {compound(compound(of(typeDead, math.MaxUint32)), ping), true, []byte{typeUser, 0}},
		"among the valid": {compound(ping, of(typeDead, 1)), false, []byte{0, typeDead}},
		"malformed":       {[]byte{typeDead, 0xc1}, false, []byte{typeDead}},
		"cut":             {[]byte{typeCompound, 9, 0}, false, nil},
		"cut later":       {compound(of(typeDead, math.MaxUint32), ping)[:6+len(of(typeDead, 0))+4], true, nil},
	} {
		for _, around := range [][]func([]byte) []byte{{}, {labelled}, {summed}, {summed, labelled}} {
			b := bytes.Clone(one.packet)
			if len(b) == 0 && len(around) > 0 {
				continue
			}
			for _, f := range around {
				b = f(b)
			}
			if found := defuse(b); found != one.found {
				t.Errorf("%s: found is %t", name, found)
			}
			if one.types == nil {
				continue
			}
			b = bytes.TrimPrefix(b, labelled(nil))
			if b[0] == typeCRC {
				if crc32.ChecksumIEEE(b[5:]) != binary.BigEndian.Uint32(b[1:]) {
					t.Errorf("%s: the sum is wrong", name)
				}
				b = b[5:]
			}
			if got := typesIn(b); !bytes.Equal(got, one.types) {
				t.Errorf("%s: the types are %v, want %v", name, got, one.types)
			}
		}
	}
	wrong := summed(of(typeDead, math.MaxUint32))
	wrong[1]++
	if defuse(wrong) {
		t.Error("a packet with a wrong sum was changed") // it would be right afterwards
	}
}

// typesIn returns the types of the messages in a packet.
func typesIn(b []byte) (types []byte) {
	if b[0] != typeCompound {
		return b[:1]
	}
	lengths, rest := b[2:2+2*int(b[1])], b[2+2*int(b[1]):]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		n := int(binary.BigEndian.Uint16(lengths))
		types, rest = append(types, typesIn(rest[:n])...), rest[n:]
	}
	return types
}

// logLines is a log that passes each line on.
type logLines chan string

func (l logLines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// await waits for a line with a text.
func (l logLines) await(t *testing.T, text string) {
	t.Helper()
	for late := time.After(patience.Time); ; {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("no line of the log has %q", text)
		}
	}
}

func send(t *testing.T, to *node, packet []byte) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "udp", to.Self().Gossip)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(labelled(packet)); err != nil {
		t.Fatal(err)
	}
}

// three starts three nodes that know one another, and returns the name of the third in memberlist.
func three(t *testing.T) (a, b, c *node, logs map[*node]logLines, third string) {
	logs = map[*node]logLines{}
	begin := func(name string, seeds ...string) *node {
		log := make(logLines, 1024)
		n := start(t, Options{Name: name, Seeds: seeds, doubtTime: time.Millisecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
		logs[n] = log
		return n
	}
	a = begin("a")
	b, c = begin("b", a.Self().Gossip), begin("c", a.Self().Gossip)
	for _, n := range []*node{a, b, c} {
		for _, name := range []string{"a", "b", "c"} {
			if n.Self().Name != name {
				n.await(t, name, "Joined 1")
			}
		}
	}
	return a, b, c, logs, memberName("c", c.token)
}

// One packet with the greatest number, about a member of a cluster without keys, is dropped by all:
// memberlist would contradict it by the number 0, and the others would not hear that member any
// more.
func TestClaimsThatCannotBeContradicted(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]byte{"suspect": typeSuspect, "alive": typeAlive, "dead": typeDead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, c, logs, third := three(t)
			self := c.Self()
			host, port, err := splitHostPort(self.Gossip)
			if err != nil {
				t.Fatal(err)
			}
			meta, err := c.view.current().meta().encode()
			if err != nil {
				t.Fatal(err)
			}
			packet := packed(t, kind, claim{math.MaxUint32, third, "x", net.ParseIP(host).To4(), port, meta, versions})
			for _, n := range []*node{a, b, c} {
				send(t, n, packet)
				logs[n].await(t, "leaves no room for a contradiction")
			}
			if err := c.Update(map[string]string{"zone": "eu-2"}, false); err != nil {
				t.Fatal(err)
			}
			a.await(t, "c", "Joined 1, Updated 1")
			b.await(t, "c", "Joined 1, Updated 1")
			if c.Self().Incarnation != self.Incarnation {
				t.Errorf("it is another run: %s", c.Self().Incarnation)
			}
		})
	}
}

// A node that the others believe to be dead for good begins anew. The claims that cause it come
// over a stream, where the guard does not see them, or say that the node leaves.
func TestANodeBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		attack func(t *testing.T, to, c *node, third string)
		seen   string // by the others
	}{
		"the greatest number over a stream": {func(t *testing.T, to, c *node, third string) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to.Self().Gossip)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			packet := packed(t, 6, struct {
				Nodes, UserStateLen int
				Join                bool
			}{1, 0, false}, peerClaim{Name: third, Addr: []byte{127, 0, 0, 1}, Port: 1, Incarnation: math.MaxUint32, State: 1, Vsn: versions})
			if _, err := conn.Write(labelled(packet)); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, conn) // it ends when the state was merged
		}, "Joined 1, Failed 1"},
		"a farewell": {func(t *testing.T, to, c *node, third string) {
			host, port, err := splitHostPort(c.Self().Gossip)
			if err != nil {
				t.Fatal(err)
			}
			farewell := c.view.current()
			farewell.goodbye = true
			meta, err := farewell.meta().encode()
			if err != nil {
				t.Fatal(err)
			}
			ip := net.ParseIP(host).To4()
			send(t, to, compound(packed(t, typeAlive, claim{1000, third, "", ip, port, meta, versions}), packed(t, typeDead, claim{1000, third, third, ip, port, nil, nil})))
		}, "Joined 1, Left 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, c, logs, third := three(t)
			before := c.Self()
			one.attack(t, a, c, third)
			one.attack(t, b, c, third)
			// c may have noticed by now, by a push/pull of its own, and have begun anew.
			a.awaitKinds(t, "c", one.seen, strings.HasPrefix)
			b.awaitKinds(t, "c", one.seen, strings.HasPrefix)
			for c.Self().Epoch == before.Epoch { // as the push/pull does, each few seconds
				_, _ = c.dial([]string{a.Self().Gossip})
			}
			logs[c].await(t, "it begins anew")
			// If it had begun anew before the second attack, it has done so twice.
			a.awaitKinds(t, "c", one.seen+", Joined 2", strings.HasPrefix)
			b.awaitKinds(t, "c", one.seen+", Joined 2", strings.HasPrefix)
			if after := c.Self(); after.Epoch <= before.Epoch || after.Gossip != before.Gossip {
				t.Errorf("it was %v and is %v", before, after)
			}
			for _, name := range []string{"a", "b"} {
				c.awaitKinds(t, name, "Joined 1, Failed 1, Joined 1", strings.HasPrefix)
			}
			if err := c.Update(map[string]string{"zone": "eu-2"}, false); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			if err := c.Leave(ctx); err != nil {
				t.Errorf("leave: %v", err)
			}
		})
	}
}
