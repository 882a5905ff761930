package membership

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/cluster"
)

func TestMetadataTravel(t *testing.T) {
	t.Parallel()
	for _, m := range []meta{
		{epoch: 1},
		{epoch: 1 << 63, links: "[::1]:1", leaving: true},
		{epoch: 7, labels: map[string]string{"": "", "a": "1", "b": "2"}, goodbye: true},
	} {
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMeta(b)
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(meta{})); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

// A node with metadata of the greatest length can still raise its epoch and say goodbye.
func TestTheLengthOfMetadataDoesNotDependOnTheEpoch(t *testing.T) {
	t.Parallel()
	m := meta{epoch: 1, links: strings.Repeat("x", maxMeta-13)}
	if b, err := m.encode(); err != nil || len(b) != maxMeta {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	m.epoch, m.leaving, m.goodbye = 1<<64-2, true, true
	if _, err := m.encode(); err != nil {
		t.Error(err)
	}
	m.links += "x"
	if _, err := m.encode(); !errors.Is(err, ErrMetadata) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestMemberNames(t *testing.T) {
	t.Parallel()
	name, tok, err := splitMemberName(memberName("a@b", 0xfedc))
	if name != "a@b" || tok != 0xfedc || err != nil {
		t.Errorf("%q %x %v", name, tok, err)
	}
	for _, s := range []string{"", "a", "a@1", "@0000000000000001", "a@000000000000000g", "a@000000000000000A", "a b@0000000000000001"} {
		if _, _, err := splitMemberName(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

func FuzzMeta(f *testing.F) {
	for _, m := range []meta{{epoch: 1}, {epoch: 300, links: "h:1", labels: map[string]string{"a": "b", "c": ""}, leaving: true, goodbye: true}} {
		b, err := m.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x was read as %+v, which is %x, %v", b, m, again, err)
		}
	})
}

func FuzzDeltas(f *testing.F) {
	f.Add(appendDelta(appendDelta(nil, delta{1, 1, nil}), delta{1 << 63, 1 << 40, []byte("data")}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		deltas, err := decodeDeltas(b)
		if err != nil {
			return
		}
		var again []byte
		size := 0
		for _, d := range deltas {
			again = appendDelta(again, d)
			size += d.size()
		}
		if !bytes.Equal(again, b) || size != len(b) {
			t.Fatalf("%x was read as %v, which is %x with a size of %d", b, deltas, again, size)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add(encodeState(nil, nil))
	f.Add(encodeState([]ended{{cluster.Incarnation{Name: "a", Epoch: 300}, 7}}, []byte("state")))
	f.Fuzz(func(t *testing.T, b []byte) {
		history, state, err := decodeState(b)
		if err != nil {
			return
		}
		if len(history) > maxEnded {
			t.Fatalf("%d entries", len(history))
		}
		if again := encodeState(history, state); !bytes.Equal(again, b) {
			t.Fatalf("%x was read as %v, %x, which is %x", b, history, state, again)
		}
	})
}
