package protofield

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// The usual forms of a field are read as anyField reads them.
func TestNext(t *testing.T) {
	racetest.Skip(t)
	for tag := range 0x100 {
		for first := range 0x100 {
			for _, second := range []byte{0, 1, 0x7f, 0x80, 0x81, 0xff} {
				data := append([]byte{byte(tag), byte(first), second, 1}, make([]byte, 300)...)
				for _, n := range []int{1, 2, 3, 4, 5, first&0x7f + 1, first&0x7f + 2, first&0x7f + 3, len(data)} {
					checkField(t, data[:n])
				}
			}
		}
	}
}

// A field that is no varint and has no length is skipped, whatever its number. A broken one has no
// size.
func TestNextOfAnotherType(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		size int // negative: any such
	}{
		"64 bits":                  {"\x0912345678", 9},
		"32 bits":                  {"\x0d1234", 5},
		"a group":                  {"\x0b\x10\x01\x0c", 4},
		"a group without an end":   {"\x0b\x10\x01", -1},
		"the end of no group":      {"\x0c\x10\x01", -1},
		"a type that is none":      {"\x0e\x10\x01", -1},
		"the number 0":             {"\x02\x01x", -1},
		"32 bits that are cut off": {"\x0d123", -1},
	} {
		if num, text, n, size := Next([]byte(c.data)); num != 0 || text != nil || n != 0 || max(size, -1) != c.size {
			t.Errorf("%s: got field %d, text %q, number %d, size %d", name, num, text, n, size)
		}
	}
}

// checkField compares Next with anyField.
func checkField(t *testing.T, data []byte) (size int) {
	t.Helper()
	num, text, n, size := Next(data)
	wantNum, wantText, wantN, wantSize := anyField(data)
	if num != wantNum || n != wantN || size != wantSize || (text == nil) != (wantText == nil) || !bytes.Equal(text, wantText) {
		t.Fatalf("%x: got field %d, text %x, number %d, size %d, want %d, %x, %d, %d", data, num, text, n, size, wantNum, wantText, wantN, wantSize)
	}
	return size
}

// FuzzNext: no input makes Next panic, and it reads what anyField reads.
func FuzzNext(f *testing.F) {
	for _, size := range []int{0, 1, 1<<7 - 1, 1 << 7, 1 << 14} {
		f.Add(AppendNumber(AppendText(nil, 1, make([]byte, size)), 1<<4, uint64(size)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for len(data) > 0 {
			size := checkField(t, data)
			if size < 0 {
				break
			}
			data = data[size:]
		}
	})
}

// A field is written as package protowire writes it, but not an empty one.
func TestAppend(t *testing.T) {
	for _, num := range []protowire.Number{1, 1<<4 - 1, 1 << 4, protowire.MaxValidNumber} {
		for _, size := range []int{0, 1, 1<<7 - 1, 1 << 7, 1 << 14} {
			text, n := make([]byte, size), uint64(size)
			want := []byte("before")
			if size > 0 {
				want = protowire.AppendBytes(protowire.AppendTag(want, num, protowire.BytesType), text)
				want = protowire.AppendVarint(protowire.AppendTag(want, num, protowire.VarintType), n)
			}
			if got := AppendNumber(AppendText([]byte("before"), num, string(text)), num, n); !bytes.Equal(got, want) {
				t.Errorf("field %d, size %d: got %x, want %x", num, size, got, want)
			}
			if size > 0 && !Each(want[len("before"):], func(got protowire.Number, read []byte, number uint64) {
				if got != num || read != nil && !bytes.Equal(read, text) || read == nil && number != n {
					t.Errorf("field %d, size %d: read field %d, %x, %d", num, size, got, read, number)
				}
			}) {
				t.Errorf("field %d, size %d is malformed", num, size)
			}
		}
	}
}
