package ws

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// texts returns the echoes of messages.
func texts(messages ...string) []string {
	var want []string
	for _, m := range messages {
		want = append(want, "text :"+m)
	}
	return want
}

// closing is the close frame with which a client ends a case without a violation.
var closing = frame(0x88, []byte{0x03, 0xe8})

// ends appends closing to frames, as one write each.
func ends(frames ...[]byte) [][]byte { return append(slices.Clone(frames), closing) }

// joined puts frames into one write.
func joined(frames [][]byte) [][]byte { return [][]byte{bytes.Join(frames, nil)} }

// octets puts each byte of frames into a write of its own.
func octets(frames [][]byte) [][]byte { return chops(frames, 1) }

// chops puts each n bytes of frames into a write of their own.
func chops(frames [][]byte, n int) [][]byte {
	return slices.Collect(slices.Chunk(bytes.Join(frames, nil), n))
}

func autobahnCases(t *testing.T) []autobahnCase {
	t.Helper()
	return slices.Concat(framingCases(), pingCases(), reservedCases(), fragmentCases(), textCases(), closeCases(), compressedCases(t))
}

// framingCases are those of section 1. Our echo of a binary message is a text message.
func framingCases() []autobahnCase {
	var cases []autobahnCase
	for kind, first := range []byte{0x81, 0x82} {
		name := []string{"text", "binary"}[kind]
		for i, n := range []int{0, 125, 126, 127, 128, 65535, 65536, 65536} {
			m := strings.Repeat("*", n)
			c := autobahnCase{id: fmt.Sprintf("1.%d.%d", kind+1, i+1), name: fmt.Sprintf("%s message of %d bytes", name, n), writes: ends(frame(first, []byte(m))), want: texts(m), code: 1000}
			if i == 7 {
				c.name, c.writes = c.name+" in writes of 997", chops(c.writes, 997)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func ping(payload string) []byte { return frame(0x89, []byte(payload)) }

// pingCases are those of section 2.
func pingCases() []autobahnCase {
	long, bin := strings.Repeat("\xfe", 125), "\x00\xff\xfe\xfd\xfc\xfb\x00\xff"
	var pings [][]byte
	var pongs []string
	for i := range 10 {
		pings = append(pings, ping(fmt.Sprint("payload-", i)))
		pongs = append(pongs, fmt.Sprint("pong payload-", i))
	}
	pong := frame(0x8a, []byte("unasked"))
	return []autobahnCase{
		{"2.1", "ping without payload", false, ends(ping("")), []string{"pong "}, 1000},
		{"2.2", "ping with text", false, ends(ping("Hello, world!")), []string{"pong Hello, world!"}, 1000},
		{"2.3", "ping with bytes that are no text", false, ends(ping(bin)), []string{"pong " + bin}, 1000},
		{"2.4", "ping of 125 bytes", false, ends(ping(long)), []string{"pong " + long}, 1000},
		{"2.5", "ping of 126 bytes", false, ends(ping(long + "x")), nil, 1002},
		{"2.6", "ping of 125 bytes, octet by octet", false, octets(ends(ping(long))), []string{"pong " + long}, 1000},
		{"2.7", "pong without payload", false, ends(frame(0x8a, nil)), nil, 1000},
		{"2.8", "pong with payload", false, ends(pong), nil, 1000},
		{"2.9", "pong, then a ping", false, ends(pong, ping("x")), []string{"pong x"}, 1000},
		{"2.10", "10 pings", false, joined(ends(pings...)), pongs, 1000},
		{"2.11", "10 pings, octet by octet", false, octets(ends(pings...)), pongs, 1000},
	}
}

// reservedCases are those of sections 3 and 4. The text before the violation may or may not be
// echoed, so each case has none, unless it is all that the case has.
func reservedCases() []autobahnCase {
	x := []byte("x")
	cases := []autobahnCase{
		{"3.1", "text with RSV 1", false, ends(frame(0x91, x)), nil, 1002},
		{"3.2", "text with RSV 2", false, ends(frame(0xa1, x), ping("")), nil, 1002},
		{"3.3", "text with RSV 3, in one write with a ping", false, joined(ends(frame(0xb1, x), ping(""))), nil, 1002},
		{"3.4", "text with RSV 4, octet by octet", false, octets(ends(frame(0xc1, x), ping(""))), nil, 1002},
		{"3.5", "binary with RSV 5", false, ends(frame(0xd2, x)), nil, 1002},
		{"3.6", "ping with RSV 6", false, ends(frame(0xe9, x)), nil, 1002},
		{"3.7", "close with RSV 7", false, ends(frame(0xf8, []byte{3, 0xe8})), nil, 1002},
	}
	for i := range byte(5) {
		payload := bytes.Repeat(x, int(i))
		for kind, opcode := range []byte{3, 11} {
			cases = append(cases, autobahnCase{
				id: fmt.Sprintf("4.%d.%d", kind+1, i+1), name: fmt.Sprintf("opcode %d", opcode+i),
				writes: ends(frame(0x80|opcode+i, payload), ping("")), code: 1002,
			})
		}
	}
	return cases
}

// fragmentCases are those of section 5.
func fragmentCases() []autobahnCase {
	f := func(first byte, payload string) []byte { return frame(first, []byte(payload)) }
	two := ends(f(0x01, "one"), f(0x80, "two"))
	between := ends(f(0x01, "one"), ping("x"), f(0x80, "two"))
	nothing := ends(f(0x80, "nothing"), f(0x81, "text"))
	unfinished := ends(f(0x00, "nothing"), f(0x81, "text"))
	five := ends(f(0x01, "1"), f(0x00, "2"), ping("a"), f(0x00, "3"), f(0x00, "4"), ping("b"), f(0x80, "5"))
	pinged, fifth := append([]string{"pong x"}, texts("onetwo")...), append([]string{"pong a", "pong b"}, texts("12345")...)
	return []autobahnCase{
		{"5.1", "ping in 2 fragments", false, ends(f(0x09, "a"), f(0x80, "b")), nil, 1002},
		{"5.2", "pong in 2 fragments", false, ends(f(0x0a, "a"), f(0x80, "b")), nil, 1002},
		{"5.3", "text in 2 fragments, in one write", false, joined(two), texts("onetwo"), 1000},
		{"5.4", "text in 2 fragments, frame by frame", false, two, texts("onetwo"), 1000},
		{"5.5", "text in 2 fragments, octet by octet", false, octets(two), texts("onetwo"), 1000},
		{"5.6", "ping between 2 fragments, in one write", false, joined(between), pinged, 1000},
		{"5.7", "ping between 2 fragments, frame by frame", false, between, pinged, 1000},
		{"5.8", "ping between 2 fragments, octet by octet", false, octets(between), pinged, 1000},
		{"5.9", "last continuation of nothing, in one write", false, joined(nothing), nil, 1002},
		{"5.10", "last continuation of nothing, frame by frame", false, nothing, nil, 1002},
		{"5.11", "last continuation of nothing, octet by octet", false, octets(nothing), nil, 1002},
		{"5.12", "continuation of nothing, in one write", false, joined(unfinished), nil, 1002},
		{"5.13", "continuation of nothing, frame by frame", false, unfinished, nil, 1002},
		{"5.14", "continuation of nothing, octet by octet", false, octets(unfinished), nil, 1002},
		{"5.15", "text in 2 fragments, then a continuation of nothing", false, ends(f(0x01, "one"), f(0x80, "two"), f(0x00, "x"), f(0x81, "text")), texts("onetwo"), 1002},
		{"5.16", "continuation of nothing, then text in 2 fragments, twice", false, ends(f(0x00, "x"), f(0x01, "one"), f(0x80, "two"), f(0x00, "x"), f(0x01, "one"), f(0x80, "two")), nil, 1002},
		{"5.17", "last continuation of nothing, then text in 2 fragments, twice", false, ends(f(0x80, "x"), f(0x01, "one"), f(0x80, "two"), f(0x80, "x"), f(0x01, "one"), f(0x80, "two")), nil, 1002},
		{"5.18", "text within an unfinished text", false, ends(f(0x01, "one"), f(0x81, "two")), nil, 1002},
		{"5.19", "5 fragments with 2 pings, in one write", false, joined(five), fifth, 1000},
		{"5.20", "5 fragments with 2 pings, frame by frame", false, five, fifth, 1000},
	}
}

// fragments returns a text message in fragments of n bytes.
func fragments(text string, n int) [][]byte {
	parts := slices.Collect(slices.Chunk([]byte(text), n))
	var frames [][]byte
	for i, p := range parts {
		var first byte
		if i == 0 {
			first = 0x01
		}
		if i == len(parts)-1 {
			first |= finBit
		}
		frames = append(frames, frame(first, p))
	}
	return frames
}

// textCases are those of section 6. The listener checks a text when it is complete, which the suite
// calls non-strict in 6.4.
func textCases() []autobahnCase {
	const valid, kosme = "Hello-µ@ßöäüàá-UTF-8!!", "κόσμε"
	const invalid = kosme + "\xed\xa0\x80edited"
	const high = kosme + "\xf4\x90\x80\x80edited"
	f := func(first byte, payload string) []byte { return frame(first, []byte(payload)) }
	cases := []autobahnCase{
		{"6.1.1", "empty text", false, ends(f(0x81, "")), texts(""), 1000},
		{"6.1.2", "3 empty fragments", false, ends(f(0x01, ""), f(0x00, ""), f(0x80, "")), texts(""), 1000},
		{"6.1.3", "3 fragments, of which 2 are empty", false, ends(f(0x01, ""), f(0x00, "x"), f(0x80, "")), texts("x"), 1000},
		{"6.2.1", "valid text", false, ends(f(0x81, valid)), texts(valid), 1000},
		{"6.2.2", "valid text in 2 fragments", false, ends(fragments(valid, 14)...), texts(valid), 1000},
		{"6.2.3", "valid text in fragments of 1 byte", false, ends(fragments(valid, 1)...), texts(valid), 1000},
		{"6.2.4", "κόσμε in fragments of 1 byte", false, ends(fragments(kosme, 1)...), texts(kosme), 1000},
		{"6.3.1", "invalid text", false, ends(f(0x81, invalid)), nil, 1007},
		{"6.3.2", "invalid text in fragments of 1 byte", false, ends(fragments(invalid, 1)...), nil, 1007},
		{"6.4.1", "invalid text in 3 fragments, of which the second is invalid", false, ends(f(0x01, kosme), f(0x00, "\xf4\x90\x80\x80"), f(0x80, "edited")), nil, 1007},
		{"6.4.2", "as 6.4.1, with the code point in 2 fragments", false, ends(f(0x01, kosme+"\xf4"), f(0x00, "\x90"), f(0x80, "\x80\x80edited")), nil, 1007},
		{"6.4.3", "as 6.4.1, in one frame of 3 writes", false, chops(ends(f(0x81, high)), 18), nil, 1007},
		{"6.4.4", "as 6.4.2, in one frame, octet by octet", false, octets(ends(f(0x81, high))), nil, 1007},
	}
	for _, group := range []struct {
		id    string
		valid bool
		texts []string
	}{
		{"6.5", true, []string{"\xce\xba", "κ\xe1\xbd\xb9", "\xce\xba\xe1\xbd\xb9\xcf\x83", "κόσμ", kosme}},
		{"6.6", false, []string{"\xce", "\xce\xba\xe1", "\xce\xba\xe1\xbd", "\xce\xba\xe1\xbd\xb9\xcf"}},
		{"6.7", true, []string{"\x00", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}},
		{"6.8", false, []string{"\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80"}},
		{"6.9", true, []string{"\x7f", "\xdf\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}},
		{"6.10", false, []string{"\xf7\xbf\xbf\xbf", "\xfb\xbf\xbf\xbf\xbf", "\xfd\xbf\xbf\xbf\xbf\xbf"}},
		{"6.11", true, []string{"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf"}},
		{"6.12", false, []string{"\x80", "\xbf", "\x80\xbf", "\x80\xbf\x80", "\xfe", "\xff", "\xfe\xfe\xff\xff"}},
		{"6.13", false, []string{"\xc0 \xc1 \xc2 ", "\xe0 \xe1 \xe2 ", "\xf0 \xf1 \xf2 ", "\xf8 \xf9 ", "\xfc "}},
		{"6.14", false, []string{"\xc0", "\xe0\x80", "\xf0\x80\x80", "\xf8\x80\x80\x80", "\xfc\x80\x80\x80\x80", "\xdf", "\xef\xbf", "\xf7\xbf\xbf"}},
		{"6.16", false, []string{"\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xf8\x80\x80\x80\xaf", "\xfc\x80\x80\x80\x80\xaf"}},
		{"6.17", false, []string{"\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf8\x87\xbf\xbf\xbf", "\xfc\x83\xbf\xbf\xbf\xbf"}},
		{"6.18", false, []string{"\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf8\x80\x80\x80\x80", "\xfc\x80\x80\x80\x80\x80"}},
		{"6.19", false, []string{"\xed\xa0\x80", "\xed\xad\xbf", "\xed\xae\x80", "\xed\xaf\xbf", "\xed\xb0\x80", "\xed\xbe\x80", "\xed\xbf\xbf"}},
		{"6.20", false, []string{"\xed\xa0\x80\xed\xb0\x80", "\xed\xad\xbf\xed\xb0\x80", "\xed\xaf\xbf\xed\xbf\xbf"}},
		{"6.21", true, []string{"\xef\xbf\xbe", "\xef\xbf\xbf", "\xf0\x9f\xbf\xbe", "\xf0\x9f\xbf\xbf", "\xf4\x8f\xbf\xbe"}},
	} {
		for i, s := range group.texts {
			c := autobahnCase{id: fmt.Sprintf("%s, %d", group.id, i+1), name: fmt.Sprintf("invalid text `% x`", s), writes: ends(f(0x81, s)), code: 1007}
			if group.valid {
				c.name, c.want, c.code = strings.TrimPrefix(c.name, "in"), texts(s), 1000
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// shut returns a close frame.
func shut(code int, reason string) []byte {
	return frame(0x88, append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...)) //nolint:gosec // 16 bits
}

// closeCases are those of section 7.
func closeCases() []autobahnCase {
	text := frame(0x81, []byte("x"))
	long := strings.Repeat("x", 256<<10)
	cases := []autobahnCase{
		{"7.1.1", "text, then a close frame", false, ends(text), texts("x"), 1000},
		{"7.1.2", "2 close frames", false, ends(closing), nil, 1000},
		{"7.1.3", "ping after the close frame", false, [][]byte{closing, ping("x")}, nil, 1000},
		{"7.1.4", "text after the close frame", false, [][]byte{closing, text}, nil, 1000},
		{"7.1.5", "close frame between 2 fragments", false, [][]byte{frame(0x01, []byte("x")), closing, frame(0x80, []byte("x"))}, nil, 1000},
		{"7.1.6", "text of 256 KiB, text, a close frame and a ping", false, [][]byte{frame(0x81, []byte(long)), text, closing, ping("x")}, texts(long, "x"), 1000},
		{"7.3.1", "close frame without payload", false, [][]byte{frame(0x88, nil)}, nil, 1000},
		{"7.3.2", "close frame with 1 byte", false, [][]byte{frame(0x88, []byte{3})}, nil, 1002},
		{"7.3.3", "close frame with a code", false, [][]byte{shut(1000, "")}, nil, 1000},
		{"7.3.4", "close frame with a code and a reason", false, [][]byte{shut(1000, "Hello World!")}, nil, 1000},
		{"7.3.5", "close frame with a reason of 123 bytes", false, [][]byte{shut(1000, strings.Repeat("*", 123))}, nil, 1000},
		{"7.3.6", "close frame with a reason of 124 bytes", false, [][]byte{shut(1000, strings.Repeat("*", 124))}, nil, 1002},
		{"7.5.1", "close frame with a reason that is not UTF-8", false, [][]byte{shut(1000, "κόσμε\xed\xa0\x80edited")}, nil, 1002},
	}
	group := func(id string, want int, codes ...int) {
		for i, code := range codes {
			answer := want
			if want == 0 {
				answer = code
			}
			cases = append(cases, autobahnCase{id: fmt.Sprintf("%s.%d", id, i+1), name: fmt.Sprint("close frame with code ", code), writes: [][]byte{shut(code, "")}, code: answer})
		}
	}
	group("7.7", 0, 1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999)
	group("7.9", 1002, 0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999)
	group("7.13", 1002, 5000, 65535)
	return cases
}

// compressedCases are those of section 12, and of RFC 7692 §6.1, which the suite does not check.
func compressedCases(t *testing.T) []autobahnCase {
	t.Helper()
	var cases []autobahnCase
	for i, n := range []int{16, 64, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10} {
		m := text(n)
		cases = append(cases, autobahnCase{
			id: fmt.Sprintf("12.1.%d", i+1), name: fmt.Sprintf("compressed text of %d bytes, twice", n), compress: true,
			writes: ends(frame(0xc1, compressed(t, m)), frame(0xc1, compressed(t, m))), want: texts(string(m), string(m)), code: 1000,
		})
	}
	half := compressed(t, text(100))
	return append(cases,
		autobahnCase{"12, fragments", "compressed text in 2 fragments", true, ends(frame(0x41, half[:9]), frame(0x80, half[9:])), texts(string(text(100))), 1000},
		autobahnCase{"12, mixed", "text without compression after its negotiation", true, ends(frame(0x81, []byte("x"))), texts("x"), 1000},
		autobahnCase{"RFC 7692, 1", "RSV1 on a continuation frame", true, ends(frame(0x41, half[:9]), frame(0xc0, half[9:])), nil, 1002},
		autobahnCase{"RFC 7692, 2", "RSV1 on a ping", true, ends(frame(0xc9, []byte("x"))), nil, 1002},
		autobahnCase{"RFC 7692, 3", "RSV1 on a pong", true, ends(frame(0xca, nil)), nil, 1002},
		autobahnCase{"RFC 7692, 4", "RSV1 on a close frame", true, ends(frame(0xc8, []byte{3, 0xe8})), nil, 1002},
		autobahnCase{"RFC 7692, 5", "RSV1 on a ping between fragments, octet by octet", true, octets(ends(frame(0x41, half[:9]), frame(0xc9, nil), frame(0x80, half[9:]))), nil, 1002},
		autobahnCase{"RFC 7692, 6", "valid frames, then RSV1 on a ping, in one write", true, joined(ends(ping("x"), frame(0xc1, half), frame(0xc9, nil))), append([]string{"pong x"}, texts(string(text(100)))...), 1002},
	)
}

// compressed returns data as the payload of one compressed message.
func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), tail)
}
