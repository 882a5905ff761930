package runtime_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// gatewayHub is a node with a TCP port for the dialects acl and gateway.
type gatewayHub struct {
	*hub
	addr string
}

func newGatewayHub(t testing.TB, options ...func(*wire.Options)) *gatewayHub {
	t.Helper()
	return newGatewayHubOf(t, newNode(t, runtime.Options{Name: "hub"}), options...)
}

func newGatewayHubOf(t testing.TB, n *runtime.Node, options ...func(*wire.Options)) *gatewayHub {
	t.Helper()
	d := gateway.New(gateway.Options{BinaryProtocol: true})
	dialects := func(o *wire.Options) { o.Dialects = []wire.Dialect{acl.Dialect{}, d} }
	h := newHubOf(t, n, runtime.PeerOptions{}, append(options, dialects)...)
	l, err := tcp.Listen(h.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	return &gatewayHub{h, l.Addr().String()}
}

// program is a client in another language. It uses the wire format without this module's
// code.
type program struct {
	t    testing.TB
	conn net.Conn
	name string
	gzip bool // frames have the 8-byte header
	sent int
}

func (h *gatewayHub) program(name string) *program {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience.Time)); err != nil {
		h.t.Fatal(err)
	}
	return &program{t: h.t, conn: conn, name: name}
}

// write sends a DATA frame with the flag for uncompressed data.
func (p *program) write(text string) {
	p.t.Helper()
	frame := []byte("MC\x01")
	if p.gzip {
		frame = append(frame, 0)
	}
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(text)))
	if _, err := p.conn.Write(append(frame, text...)); err != nil {
		p.t.Fatal(err)
	}
}

// send sends a JSON-RPC message or a batch, with additional members of the envelope.
func (p *program) send(payload, more string) {
	p.t.Helper()
	p.sent++
	p.write(fmt.Sprintf(`{"id":"%s-%d","timestamp":%q,"source":%q,%s"mcp_payload":%s}`,
		p.name, p.sent, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), p.name, more, payload))
}

// ask sends a request for a namespace; "" leaves that out.
func (p *program) ask(id, namespace, method, params string) {
	p.t.Helper()
	more := ""
	if namespace != "" {
		more = fmt.Sprintf(`"target_namespace":%q,`, namespace)
	}
	p.send(request(id, method, params), more)
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":%s}`, method, params, id)
}

func (p *program) notify(method, params string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params), "")
}

// receivedEnvelope is the part of an envelope that a program reads.
type receivedEnvelope struct {
	Source      string          `json:"source"`
	Correlation string          `json:"correlation_id"`
	Payload     json.RawMessage `json:"mcp_payload"`
	Error       *struct {
		Code string `json:"code"`
	} `json:"error"`
	rpc
}

// rpc is the part of a JSON-RPC message that a program reads.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Fault  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// frame reads the next frame, which must be DATA.
func (p *program) frame() []byte {
	p.t.Helper()
	header := make([]byte, 7)
	if p.gzip {
		header = make([]byte, 8)
	}
	if _, err := io.ReadFull(p.conn, header); err != nil {
		p.t.Fatal(err)
	}
	text := make([]byte, binary.BigEndian.Uint32(header[len(header)-4:]))
	if _, err := io.ReadFull(p.conn, text); err != nil {
		p.t.Fatal(err)
	}
	switch string(header[:3]) {
	case "MC\x01":
	case "MC\x02": // a ping, on a busy machine
		header[2] = 3
		if _, err := p.conn.Write(append(header, text...)); err != nil {
			p.t.Fatal(err)
		}
		return p.frame()
	default:
		p.t.Fatalf("got the header %x: %s", header, text)
	}
	if p.gzip && header[3]&1 == 1 {
		text = unzipped(p.t, text)
	}
	return text
}

// read reads the next envelope.
func (p *program) read() receivedEnvelope {
	p.t.Helper()
	text := p.frame()
	var e receivedEnvelope
	err := json.Unmarshal(text, &e)
	if err == nil && len(e.Payload) > 0 && e.Payload[0] == '{' {
		err = json.Unmarshal(e.Payload, &e.rpc)
	}
	if err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	return e
}

func unzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return text
}

// result reads the next frame, which must be the result of a request.
func (p *program) result(id string) string {
	p.t.Helper()
	e := p.read()
	if string(e.ID) != id || e.Result == nil {
		p.t.Fatalf("%s got %s, want the result of %s", p.name, e.Payload, id)
	}
	return string(e.Result)
}

// fault reads the next frame, which must be the error of a request, in both forms.
func (p *program) fault(id string) (code int, wireCode, text string) {
	p.t.Helper()
	e := p.read()
	if string(e.ID) != id || e.Fault == nil || e.Error == nil {
		p.t.Fatalf("got %s, want the error of %s", e.Payload, id)
	}
	return e.Fault.Code, e.Error.Code, e.Fault.Message
}

// progress reads the next frame, which must be a progress notification.
func (p *program) progress() (token string, percent float64) {
	p.t.Helper()
	e := p.read()
	var params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
	}
	if err := json.Unmarshal(e.Params, &params); err != nil || e.Method != "notifications/progress" {
		p.t.Fatalf("got %s, want progress (%v)", e.Payload, err)
	}
	return string(params.Token), params.Progress
}
