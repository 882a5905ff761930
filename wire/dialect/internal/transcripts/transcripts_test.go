// Package transcripts_test plays sessions of the dialects by their files in testdata.
package transcripts_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

var update = flag.Bool("update", false, "write the transcripts anew")

func TestAcl(t *testing.T)     { transcripts(t, "testdata/acl.txtar", acl.Dialect{}) }
func TestBridge(t *testing.T)  { transcripts(t, "testdata/bridge.txtar", bridge.Dialect{Node: "n1"}) }
func TestRag(t *testing.T)     { transcripts(t, "testdata/rag.txtar", rag.Dialect{}) }
func TestRossnet(t *testing.T) { transcripts(t, "testdata/rossnet.txtar", rossnet.Dialect{}) }

func TestGateway(t *testing.T) {
	d := gateway.New(gateway.Options{Name: "gw", Version: "7", Rate: wire.Rate{Messages: 5, Window: time.Minute}})
	transcripts(t, "testdata/gateway.txtar", d)
}

// transcripts plays the sections of a file. Each is a session; what follows its name are its
// options. The lines that begin with a verb are what happens, and the indented ones after each are
// what it leads to.
//
//	> FRAME              a frame of the peer's; "LAST" is the JSON-RPC id of our last request
//	< #N ACT PAYLOAD     the swarm's answer to the message N
//	^ ID ACT PAYLOAD     a further message of the sender of ID, in its conversation
//	! ENVELOPE           a message of the swarm's own, as JSON
//	= #N                 the message N, which goes on to this peer
//	~ #N ENVELOPE        the same with other members
//	x #N REFUSAL         the session or its handler refuses what N was
//	@ DURATION           the time passes
//	h AGENT              another session takes over the requests of an agent of the peer
//	? FRAME              whether the dialect claims a first frame
//
// A negative N counts from the last one.
func transcripts(t *testing.T, file string, d wire.Dialect) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	preamble, rest, _ := strings.Cut(string(text), "-- ")
	out.WriteString(preamble)
	for section := range strings.SplitSeq(rest, "\n-- ") {
		title, body, _ := strings.Cut(section, " --\n")
		name, options, _ := strings.Cut(title, ":")
		t.Run(name, func(t *testing.T) {
			got := perform(t, d, options, body)
			fmt.Fprintf(&out, "-- %s --\n%s\n", title, got)
			if diff := cmp.Diff(lines(body), lines(got)); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

var epoch = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

// stage plays a transcript. It is the Stamper of its session.
type stage struct {
	t        *testing.T
	dialect  wire.Dialect
	options  wire.CodecOptions
	codec    wire.Codec
	inbound  []wire.Inbound
	messages map[string]*performatives.Message
	digests  []string // the ids that are digests, each with the number of its first message
	out      strings.Builder
	now      time.Time
	stamps   int
	last     string // see transcripts
}

// Stamp returns an id that counts, and the time.
func (s *stage) Stamp() performatives.Stamp {
	s.stamps++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("id-%d", s.stamps)), Time: s.now}
}

func perform(t *testing.T, d wire.Dialect, options, body string) string {
	s := &stage{t: t, dialect: d, now: epoch, messages: map[string]*performatives.Message{}}
	s.options = wire.CodecOptions{Stamper: s, MaxBytes: 1 << 16, MaxPending: 64}
	for option := range strings.FieldsSeq(options) {
		switch option {
		case "initiator":
			s.options.Initiator = true
		case "local":
			s.options.Local = "hub"
		case "token":
			s.options.Token = func() string { return "sesame" }
		case "typed":
			s.options.Registry = reviews(t)
		case "tools":
			s.options.Tools = func(asker, of performatives.AgentID) []string {
				return []string{"for-" + string(asker) + "-of-" + string(of)}
			}
		case "gzip":
			s.options.Compression = []string{"gzip"}
		case "workers":
			s.options.Workers = workers
		case "path":
			s.options.Path = "/ws/Ada"
		case "deep":
			s.options.Path = "/ws/Ada/x"
		case "small":
			s.options.MaxPending, s.options.MaxBytes = 2, 1000
		default:
			t.Fatalf("option %q", option)
		}
	}
	s.open()
	for _, line := range lines(body) {
		if line == "" || strings.HasPrefix(line, " ") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if !strings.HasPrefix(line, "#") {
			s.play(line)
		}
	}
	return s.out.String()
}

func (s *stage) open() {
	var err error
	if s.codec, err = s.dialect.Open(s.options); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) print(format string, args ...any) { fmt.Fprintf(&s.out, "    "+format+"\n", args...) }

func (s *stage) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case ">":
		frame := []byte(strings.ReplaceAll(rest, `"LAST"`, s.last))
		s.codec.Decode(frame, s.take)
		for i := range frame { // a message has no memory of its frame
			frame[i] = '?'
		}
	case "<", "^", "!", "=", "~":
		m := s.message(verb, rest)
		if m == nil {
			s.print("there is no message")
			return
		}
		out, err := wiretest.Encode(s.t, s.codec, m)
		s.wrote(out, err)
	case "x":
		number, refusal, _ := strings.Cut(rest, " ")
		r := new(performatives.Refusal)
		if err := json.Unmarshal([]byte(refusal), r); err != nil {
			s.t.Fatal(err)
		}
		s.wrote(wiretest.Refuse(s.t, s.codec, s.number(number), r), nil)
	case "@":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
	case "h":
		requests, err := s.codec.(wire.HandoverCodec).Requests(performatives.AgentID(rest))
		s.print("%s", s.short(string(requests)))
		s.open()
		if err = errors.Join(err, s.codec.(wire.HandoverCodec).Adopt(requests)); err != nil {
			s.t.Fatal(err)
		}
	case "?":
		s.print("%s: %t", s.dialect.Name(), s.dialect.Recognizes([]byte(rest)))
	default:
		s.t.Fatalf("line %q", line)
	}
	if c, ok := s.codec.(wire.CompressionCodec); ok {
		if method := c.Agreed(); method != "" || c.Offered() {
			s.print("agreed on %q, offered: %t", method, c.Offered())
		}
	}
}

// workers are those of a small cluster, from which a stranger gets nothing.
func workers(asker, of performatives.AgentID, tool string) (found []performatives.AgentID, known bool) {
	for _, w := range []struct {
		id    performatives.AgentID
		tools string
	}{{"ns/a", " add dot.ted "}, {"ns/b", " add sub "}, {"solo.x", " mul "}, {"math", " div "}} {
		if of != "system" && of != "default" && of != w.id && !strings.HasPrefix(string(w.id), string(of)+"/") || asker == "Stranger" {
			continue
		}
		if known = true; strings.Contains(w.tools, " "+tool+" ") {
			found = append(found, w.id)
		}
	}
	return found, known
}

func (s *stage) wrote(out []byte, err error) {
	switch {
	case err != nil:
		s.print("error %s%s", s.short(err.Error()), s.refusal(performatives.RefusalOf(err)))
	case len(out) == 0:
		s.print("nothing")
	default:
		s.frame("writes", out)
		if rpc := jsonscan.Member(out, "mcp_payload"); jsonscan.Member(rpc, "method") != nil {
			s.last = string(jsonscan.Member(rpc, "id"))
		}
	}
}

func (s *stage) frame(verb string, text []byte) {
	for frame := range strings.SplitSeq(string(text), "\n") {
		if !json.Valid([]byte(frame)) {
			s.t.Errorf("no JSON: %s", frame)
		}
		s.print("%s %s", verb, s.short(gzipped.ReplaceAllString(frame, "gzip")))
	}
}

func (s *stage) take(in wire.Inbound) {
	if in.Rest != nil {
		rest := in.Rest()
		rest.Token, rest.Ref = in.Token, in.Ref
		in = rest
	}
	s.inbound = append(s.inbound, in)
	n := len(s.inbound)
	token := named("token", in.Token) + named("its-id", in.ID)
	if in.Content != nil {
		token += fmt.Sprintf(" of %d bytes", len(in.Content))
	}
	switch {
	case in.Err != nil:
		s.print("#%d refused: %s%s%s", n, s.short(in.Err.Error()), s.refusal(in.Err), token)
	case in.Message == nil:
		s.print("#%d no message%s", n, token)
	default:
		m := in.Message
		if id := string(m.ID()); digest.MatchString(id) {
			s.digests = append(s.digests, digest.FindString(id), fmt.Sprintf("#%d", n))
		}
		s.messages[string(m.ID())] = m
		s.print("#%d %s%s", n, s.short(s.describe(m)), token)
	}
	if len(in.Answer) > 0 {
		s.frame("answers", in.Answer)
	}
}

// gzipped is what compression makes in base64, which differs with the version of Go.
var gzipped = regexp.MustCompile(`H4sI[\w+/=]+`)

var digest = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f-]{13}-8[0-9a-f-]{21}`)

// short returns a text with numbers in place of digests.
func (s *stage) short(text string) string { return strings.NewReplacer(s.digests...).Replace(text) }

func (s *stage) describe(m *performatives.Message) string {
	e := m.Envelope()
	act := m.Performative().String()
	if m.MessageType() != "" {
		act += "=" + m.MessageType()
	}
	text := fmt.Sprintf("%s %s %s → %s in %s", act, m.ID(), m.Sender(), m.Receiver(), m.ConversationID())
	if l, ok := s.dialect.(wire.LabelDialect); ok && l.SenderIsLabel(m) {
		text += " (a label)"
	}
	if a, ok := m.Shape().(wire.Anycast); ok && a.Anycast() {
		text += " (anycast)"
	}
	text += named("re", m.InReplyTo()) + named("with", m.ReplyWith()) + named("protocol", m.Protocol()) + named("trace", m.Trace()) +
		named("ontology", m.Ontology()) + named("language", e.Language)
	if !m.ReplyBy().IsZero() {
		text += " by=" + m.ReplyBy().Sub(epoch).String()
	}
	if !m.Timestamp().Equal(epoch) {
		text += " at=" + m.Timestamp().Sub(epoch).String()
	}
	if m.Priority() != performatives.Normal {
		text += " " + m.Priority().String()
	}
	text += fmt.Sprintf(" %T %s", m.Payload(), s.json(m.Payload()))
	for _, more := range []any{e.Budget, e.Metadata} {
		if v := s.json(more); v != "null" {
			text += " " + v
		}
	}
	return text
}

// named returns a value with its name, and nothing for an empty one.
func named[T ~string](name string, value T) string {
	if value == "" {
		return ""
	}
	return " " + name + "=" + string(value)
}

// refusal returns what the text of a refusal does not tell of it.
func (s *stage) refusal(r *performatives.Refusal) string {
	if r == nil {
		return ""
	}
	text := named("field", r.Field) + named("about", s.short(string(r.About)))
	if r.Act != 0 {
		text += " act=" + r.Act.String()
	}
	if r.RetryAfter != 0 {
		text += " after=" + r.RetryAfter.String()
	}
	return text
}

func (s *stage) json(v any) string {
	text, err := jsonscan.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.short(string(text))
}

func (s *stage) number(text string) wire.Inbound {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "#"))
	if n < 0 {
		n += len(s.inbound) + 1
	}
	if err != nil || n < 1 || n > len(s.inbound) {
		s.t.Fatalf("no %s among %d", text, len(s.inbound))
	}
	return s.inbound[n-1]
}

func (s *stage) message(verb, rest string) *performatives.Message {
	stamp := performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("m-%d", len(s.messages))), Time: s.now.Add(time.Second)}
	var m *performatives.Message
	var err error
	f := strings.SplitN(rest, " ", 3)
	switch verb {
	case "<":
		act, name, payload := s.content(f[1], f[2])
		to := s.number(f[0]).Message
		if to == nil {
			return nil
		}
		if m, err = to.ReplyFrom(performatives.AgentID("Jules"), stamp, act, payload); err == nil {
			m, err = m.With(func(e *performatives.Envelope) { e.MessageType = name })
		}
	case "^":
		_, name, payload := s.content(f[1], f[2])
		if m, err = s.messages[f[0]].Follow(stamp, payload); err == nil {
			m, err = m.With(func(e *performatives.Envelope) { e.MessageType = name })
		}
	case "!":
		m, err = performatives.New(s.envelope(performatives.Envelope{ID: stamp.ID, Timestamp: stamp.Time, Sender: "Jules", Receiver: "Ada"}, rest))
	case "=":
		m = s.number(rest).Message
	case "~":
		number, envelope, _ := strings.Cut(rest, " ")
		m, err = s.number(number).Message.With(func(e *performatives.Envelope) { *e = s.envelope(*e, envelope) })
	}
	switch {
	case err != nil:
		s.t.Fatalf("%v: %s", err, rest)
	case m == nil:
		return nil
	}
	s.messages[string(m.ID())] = m
	return m
}

// envelope reads members into an envelope. The payload_type is raw for one that is not decoded, and
// act for one of the act although the message has a message type.
func (s *stage) envelope(e performatives.Envelope, text string) performatives.Envelope {
	v := performatives.MessageJSON{Envelope: e}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	if e = v.Envelope; v.Payload == nil {
		return e
	}
	messageType := e.MessageType
	switch v.PayloadType {
	case "raw":
		e.Payload = performatives.Raw(v.Payload)
		return e
	case "act":
		messageType = ""
	}
	var err error
	if e.Payload, err = s.options.Registry.DecodeTyped(e.Performative, messageType, "", v.Payload); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return e
}

// content reads ACT or ACT=TYPE, and a payload of it.
func (s *stage) content(name, text string) (performatives.Performative, string, any) {
	name, typ, typed := strings.Cut(name, "=")
	act, err := performatives.ParsePerformative(name)
	if err != nil {
		s.t.Fatal(err)
	}
	payload, err := s.options.Registry.DecodeTyped(act, typ, "", json.RawMessage(text))
	if err != nil {
		s.t.Fatal(err)
	}
	if typed && act == performatives.ActCancel { // which Follow recognizes by its payload
		payload = performatives.Cancel{}
	}
	return act, typ, payload
}

// review is an application's payload.
type review struct {
	File string `json:"file"`
}

// Validate returns an error for a review without a file.
func (r review) Validate() error {
	if r.File == "" {
		return &performatives.Refusal{Field: "file", Text: "file: want a name"}
	}
	return nil
}

// reviews returns a registry that knows some message types.
func reviews(t *testing.T) *performatives.Registry {
	r := new(performatives.Registry)
	for name, act := range map[string]performatives.Performative{
		"REVIEW_REQUEST": performatives.ActRequest, "REVIEW_TASK": performatives.ActTaskRequest, "REVIEW_SEEN": performatives.ActInform,
		"REVIEW_FAILED": performatives.ActFailure,
	} {
		if err := performatives.RegisterMessageType[review](r, name, act); err != nil {
			t.Fatal(err)
		}
	}
	return r
}
