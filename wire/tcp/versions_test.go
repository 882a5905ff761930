package tcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
)

// A proposing client sends the bytes of addenda §5 and handles each kind of answer.
func TestPropose(t *testing.T) {
	proposed := append(unhex(t, "4D 43 50 00 00 01 00 06 00 00 00 00 00 00 00 50"), proposePayload...)
	health := unhex(t, "4D 43 50 00 00 01 00 04 00 00 00 00 00 00 00 02 7B 7D")
	answer := func(typ uint16, payload string) []byte {
		return append(header{form: versioned, typ: typ, length: uint32(len(payload))}.append(nil), payload...)
	}
	for name, tt := range map[string]struct {
		answer []byte
		want   string // in the error; empty for none
		wrote  []byte
	}{
		"agreed":            {answer: answer(typeAgree, `{"agreed_version":1}`)},
		"asked in between":  {answer: append(bytes.Clone(health), answer(typeAgree, `{"agreed_version":1}`)...), wrote: health},
		"another version":   {answer: answer(typeAgree, `{"agreed_version":2}`), want: "the peer selected version 2, which was not proposed"},
		"no version":        {answer: answer(typeAgree, `{}`), want: "the version acknowledgement cannot be parsed"},
		"refused":           {answer: answer(typeError, `too old`), want: "wire: the peer ended the session: too old"},
		"data":              {answer: answer(typeResponse, `{}`), want: "the server did not acknowledge the version"},
		"another form":      {answer: unhex(t, "4D 43 05 00 00 00 00"), want: "a frame does not begin with 4D 43 50 00"},
		"nothing":           {want: "EOF"},
		"half of an answer": {answer: health[:9], want: "tcp: the connection ended within a frame: unexpected EOF"},
	} {
		c, network := newScripted(bytes.NewReader(tt.answer), versioned, false, 1<<20)
		got := ""
		if err := c.propose(t.Context()); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if want := append(bytes.Clone(proposed), tt.wrote...); !bytes.Equal(network.out.Bytes(), want) {
			t.Errorf("%s: wrote % X, want % X", name, network.out.Bytes(), want)
		}
	}
}

// Dial returns when the context ends while the server is silent.
func TestDialEndsWithContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadFull(c, make([]byte, 16)) // the proposal has been sent
		cancel(why)
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}()
	if _, err := Dial(ctx, l.Addr().String(), DialOptions{Versioned: true}); !errors.Is(err, why) {
		t.Errorf("Dial: %v, want %v", err, why)
	}
	<-done
}

// A written frame has the type that existing clients expect.
func TestDataType(t *testing.T) {
	for _, tt := range []struct {
		json           string
		client, server uint16
	}{
		{`{"mcp_payload":{"method":"tools/list","id":1}}`, typeRequest, typeRequest},
		{`{"mcp_payload":{"id":1,"result":{"method":1}}}`, typeResponse, typeResponse},
		{`{"mcp_payload":{"id":1,"error":{"code":1}}}`, typeResponse, typeResponse},
		{` { "a" : [ {"method":1} , "}" ], "b\"": {}, "mcp_payload" : { "params" : {"result":[1,2]}, "method" : "x"}}`, typeRequest, typeRequest},
		{`{"mcp_payload":[{"id":1,"result":{}},{"method":"x"}]}`, typeResponse, typeResponse},
		{`{"mcp_payload": [ {"method":"x"},{"id":1,"result":{}}]}`, typeRequest, typeRequest},
		{`{"method":"x"}`, typeRequest, typeResponse},
		{`{"x":{"mcp_payload":{"method":"x"}}}`, typeRequest, typeResponse},
		{`{"mcp_payload":{}}`, typeRequest, typeResponse},
		{`{"mcp_payload":null}`, typeRequest, typeResponse},
		{`{"mcp_payload":{"a":"\\"}}`, typeRequest, typeResponse},
		{`{"mcp_payload`, typeRequest, typeResponse},
		{`[]`, typeRequest, typeResponse},
		{``, typeRequest, typeResponse},
	} {
		if c, s := dataType([]byte(tt.json), false), dataType([]byte(tt.json), true); c != tt.client || s != tt.server {
			t.Errorf("%s: %d from a client and %d from a server, want %d and %d", tt.json, c, s, tt.client, tt.server)
		}
	}
}

func FuzzDataType(f *testing.F) {
	f.Add([]byte(`{"mcp_payload":{"method":"x"}}`))
	f.Add([]byte(`{"mcp_payload":[{"a":"\\","b":[1,{}],"result":1}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		if typ := dataType(b, true); typ != typeRequest && typ != typeResponse || !bytes.Equal(b, before) {
			t.Errorf("%q: type %d", before, typ)
		}
	})
}

var _ wire.CompressConn = (*conn)(nil)
