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

// What encode would not write is not read.
func TestMalformedMetadata(t *testing.T) {
	t.Parallel()
	good, err := meta{epoch: 7, links: "l", labels: map[string]string{"a": "1", "b": "2"}}.encode()
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(good)) }
	bad := map[string][]byte{
		"version":  changed(func(b []byte) []byte { b[0]++; return b }),
		"flags":    changed(func(b []byte) []byte { b[1] = 4; return b }),
		"epoch":    changed(func(b []byte) []byte { b[9] = 0; return b }),
		"trailing": append(bytes.Clone(good), 0),
		"order":    bytes.Replace(good, []byte("\x01a\x011\x01b\x012"), []byte("\x01b\x012\x01a\x011"), 1),
		"twice":    bytes.Replace(good, []byte("\x01b"), []byte("\x01a"), 1),
		"long":     append(bytes.Clone(good), make([]byte, maxMeta)...),
	}
	for i := range good {
		bad[string(rune('0'+i))] = good[:i]
	}
	for name, b := range bad {
		if m, err := decodeMeta(b); !errors.Is(err, errFormat) || m.epoch != 0 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if _, err := decodeAnnouncement(memberName("n", 1), "a:1", b); !errors.Is(err, errFormat) {
			t.Errorf("an announcement of %s: %v", name, err)
		}
	}
	if _, err := decodeAnnouncement("n", "a:1", good); !errors.Is(err, errFormat) {
		t.Errorf("an announcement without a token: %v", err)
	}
}

func TestStateTravels(t *testing.T) {
	t.Parallel()
	one, two := ended{cluster.Incarnation{Name: "n", Epoch: 1}, 1 << 63}, ended{cluster.Incarnation{Name: "name", Epoch: 300}, 7}
	for _, history := range [][]ended{nil, {one}, {one, two}} {
		b := encodeState(history, []byte("state"))
		got, state, err := decodeState(b)
		if diff := cmp.Diff(history, got, cmp.AllowUnexported(ended{})); err != nil || diff != "" || string(state) != "state" {
			t.Errorf("%v, %q\n%s", err, state, diff)
		}
		for i := range len(b) - len("state") { // the state may have any length
			if got, _, err := decodeState(b[:i]); !errors.Is(err, errFormat) || got != nil {
				t.Errorf("%d of %d bytes: %+v, %v", i, len(b), got, err)
			}
		}
	}
	many := make([]ended, maxEnded+1)
	for i := range many {
		many[i] = one
	}
	if got, _, err := decodeState(encodeState(many[1:], nil)); err != nil || len(got) != maxEnded {
		t.Errorf("%d incarnations, %v", len(got), err)
	}
	for name, b := range map[string][]byte{
		"too many":       encodeState(many, nil),
		"no epoch":       encodeState([]ended{{cluster.Incarnation{Name: "n"}, 1}}, nil),
		"no name":        encodeState([]ended{{cluster.Incarnation{Epoch: 1}, 1}}, nil),
		"version":        {formatVersion + 1, 0},
		"a long varint":  {formatVersion, 0x81, 0},
		"an endless one": {formatVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if got, _, err := decodeState(b); !errors.Is(err, errFormat) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
