package grpc

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// FuzzDecode: no input makes the decoder panic; what it reads is what generated code
// reads, and is the same when it is written and read again; what it does not read is
// answered.
func FuzzDecode(f *testing.F) {
	c := newCodec(f)
	for i, act := range allActs() {
		frame := encode(f, c, rapid.Custom(func(t *rapid.T) *performatives.Message { return drawMessage(t, act) }).Example(i))
		f.Add(frame)
		f.Add(frame[:len(frame)*2/3])
	}
	f.Add([]byte("\n0\x10\x07\x1a\x0300000: " + strings.Repeat("0", 37))) // a FAILURE with a sender and an in_reply_to, and a broken end
	f.Fuzz(func(t *testing.T, data []byte) {
		all := decodeAll(c, data)
		for _, in := range all {
			if in.Message == nil {
				checkAnswer(t, c, in)
				continue
			}
			again := decodeOne(t, c, encode(t, c, in.Message))
			if diff := difference(t, in.Message, again); diff != "" {
				t.Fatalf("(-first +second):\n%s", diff)
			}
		}
		checkGenerated(t, c, data, all)
	})
}

// checkAnswer checks that an error has a code and a text, and that its answer is a message.
func checkAnswer(t *testing.T, c *codec, in wire.Inbound) {
	if in.Err == nil || !in.Err.Code.Known() || in.Err.Text == "" {
		t.Fatalf("got %+v", in)
	}
	if in.Answer != nil && decodeOne(t, c, in.Answer).Performative() != performatives.ActNotUnderstood {
		t.Fatalf("answer %x", in.Answer)
	}
}

// checkGenerated checks that generated code reads the same messages, and none besides.
func checkGenerated(t *testing.T, c *codec, data []byte, all []wire.Inbound) {
	n := 0
	generatedDecode(&c.opts, data, func(m *performatives.Message, token string, err error) {
		if n == len(all) {
			t.Fatalf("generated code reads more than %d envelopes", n)
		}
		in := all[n]
		n++
		if n < len(all) && in.Err != nil && isEnd(all[n].Message) {
			n++
		}
		switch {
		case err != nil && strings.Contains(err.Error(), "UTF-8"):
			return // of a text that a later one replaces, which only generated code looks at
		case (m == nil) != (in.Message == nil):
			t.Fatalf("generated code reads %v (%v), this package %v (%v)", m, err, in.Message, in.Err)
		case m == nil:
			return
		}
		if diff := difference(t, in.Message, m); diff != "" || token != in.Token {
			t.Fatalf("(-by hand +by generated code) tokens %q and %q:\n%s", in.Token, token, diff)
		}
	})
	if n < len(all) {
		t.Fatalf("generated code reads %d of %d envelopes", n, len(all))
	}
}

// isEnd reports whether m is what this package makes of a refusal that it cannot read: the end of
// the request.
func isEnd(m *performatives.Message) bool {
	return m != nil && m.Performative() == performatives.ActFailure && m.ID() == stamps{}.Stamp().ID
}
