package gateway

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// counter is a Stamper whose ids count and whose clock stands still.
type counter struct{ n atomic.Int64 }

var epoch = time.Date(2024, 1, 15, 10, 30, 45, 123_000_000, time.UTC)

func (c *counter) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("id-%d", c.n.Add(1))), Time: epoch}
}

func open(t testing.TB, o Options, s wire.CodecOptions) *codec {
	t.Helper()
	if s.Stamper == nil {
		s.Stamper = new(counter)
	}
	if s.Local == "" {
		s.Local = "gateway"
	}
	c, err := New(o).Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*codec)
}

// stage plays a transcript: the lines that begin with one of > < ! x are what happens,
// and the indented ones after each are what it leads to.
//
//	> FRAME                       a frame of the peer's
//	< #N ACT PAYLOAD              the swarm's answer to the message N
//	! ID ACT FROM TO PAYLOAD      a message of the swarm's own
//	^ ID ACT PAYLOAD              a further message of the sender of ID, in its conversation
//	x #N CODE                     the session or its handler refuses what N was
//
// ACT may be ACT=TYPE, for a message with a message type.
type stage struct {
	t        *testing.T
	codec    *codec
	inbound  []wire.Inbound
	messages map[string]*performatives.Message
	requests []string // the ids that are hashes, each with the number of its first message
	out      strings.Builder
	stamps   int
}

func (s *stage) print(format string, args ...any) { fmt.Fprintf(&s.out, "    "+format+"\n", args...) }

func (s *stage) play(line string) {
	fmt.Fprintln(&s.out, line)
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case ">":
		s.codec.Decode([]byte(rest), s.take)
	case "<", "!", "^":
		m := s.message(verb, rest)
		out, err := s.codec.Encode([]byte("kept"), m)
		s.wrote(out, err)
	case "x":
		f := strings.Fields(rest)
		s.wrote(s.codec.Refuse([]byte("kept"), s.number(f[0]), &performatives.Refusal{Code: performatives.Code(f[1])}), nil)
	default:
		s.t.Fatalf("line %q", line)
	}
	if method := s.codec.Agreed(); method != "" {
		s.print("agreed on %s", method)
	}
}

func (s *stage) wrote(out []byte, err error) {
	text, ok := strings.CutPrefix(string(out), "kept")
	switch {
	case !ok:
		s.t.Errorf("what was in the buffer is lost: %s", out)
	case err != nil:
		s.print("error %v", err)
	case text == "":
		s.print("nothing")
	default:
		s.frame("writes", []byte(text))
	}
}

func (s *stage) frame(verb string, text []byte) {
	if !json.Valid(text) {
		s.t.Errorf("no JSON: %s", text)
	}
	s.print("%s %s", verb, text)
}

func (s *stage) take(in wire.Inbound) {
	s.inbound = append(s.inbound, in)
	n := len(s.inbound)
	token := ""
	if in.Token != "" {
		token = " token=" + in.Token
	}
	switch {
	case in.Err != nil:
		s.print("#%d refused: %v%s", n, in.Err, token)
	case in.Message == nil:
		s.print("#%d no message%s", n, token)
	default:
		m := in.Message
		if id := string(m.ID()); !strings.HasPrefix(id, "id-") { // a hash
			s.requests = append(s.requests, id, fmt.Sprintf("#%d", n))
		}
		s.print("#%d %s%s", n, strings.NewReplacer(s.requests...).Replace(describe(s.t, m)), token)
	}
	if len(in.Answer) > 0 {
		s.frame("answers", in.Answer)
	}
}

func describe(t testing.TB, m *performatives.Message) string {
	t.Helper()
	payload, err := jsonscan.Marshal(m.Payload())
	if err != nil {
		t.Fatal(err)
	}
	act := m.Performative().String()
	if m.MessageType() != "" {
		act += "=" + m.MessageType()
	}
	text := fmt.Sprintf("%s %s → %s in %s", act, m.Sender(), m.Receiver(), m.ConversationID())
	if m.InReplyTo() != "" {
		text += " re " + m.InReplyTo()
	}
	if !m.ReplyBy().IsZero() {
		text += " by " + m.ReplyBy().Sub(epoch).String()
	}
	if m.Priority() != performatives.Normal {
		text += " " + m.Priority().String()
	}
	text += " " + string(payload)
	if e := m.Envelope(); len(e.Metadata) > 0 {
		metadata, err := jsonscan.Marshal(e.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		text += " " + string(metadata)
	}
	return text
}

func (s *stage) number(text string) wire.Inbound {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "#"))
	if err != nil || n < 1 || n > len(s.inbound) {
		s.t.Fatalf("no %s among %d", text, len(s.inbound))
	}
	return s.inbound[n-1]
}

func (s *stage) message(verb, rest string) *performatives.Message {
	s.stamps++
	stamp := performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("m-%d", s.stamps)), Time: epoch.Add(time.Second)}
	var m *performatives.Message
	var err error
	switch verb {
	case "<":
		f := strings.SplitN(rest, " ", 3)
		act, name, payload := s.content(f[1], f[2])
		if m, err = s.number(f[0]).Message.ReplyFrom("Jules", stamp, act, payload); err == nil {
			m, err = m.With(func(e *performatives.Envelope) { e.MessageType = name })
		}
	case "^":
		f := strings.SplitN(rest, " ", 3)
		_, name, payload := s.content(f[1], f[2])
		if m, err = s.messages[f[0]].Follow(stamp, payload); err == nil {
			m, err = m.With(func(e *performatives.Envelope) { e.MessageType = name })
		}
	case "!":
		f := strings.SplitN(rest, " ", 5)
		act, name, payload := s.content(f[1], f[4])
		m, err = performatives.New(performatives.Envelope{
			ID: performatives.MessageID(f[0]), Timestamp: stamp.Time, Performative: act, MessageType: name,
			Sender: performatives.AgentID(f[2]), Receiver: performatives.AgentID(f[3]), Payload: payload,
			ReplyBy: epoch.Add(30 * time.Second),
		})
		s.messages[f[0]] = m
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// content reads ACT or ACT=TYPE, and a payload of it.
func (s *stage) content(name, text string) (performatives.Performative, string, any) {
	name, typ, typed := strings.Cut(name, "=")
	act, err := performatives.ParsePerformative(name)
	if err != nil {
		s.t.Fatal(err)
	}
	payload, err := (*performatives.Registry)(nil).DecodeTyped(act, typ, "", json.RawMessage(text))
	if err != nil {
		s.t.Fatal(err)
	}
	if typed && act == performatives.ActCancel { // which Follow recognizes by its payload
		payload = performatives.Cancel{}
	}
	return act, typ, payload
}

const transcripts = "testdata/sessions.txtar"

// Each section is a session; what follows its name are its options.
func TestTranscripts(t *testing.T) {
	text, err := os.ReadFile(transcripts)
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
			got := perform(t, options, body)
			fmt.Fprintf(&out, "-- %s --\n%s", title, got)
			if diff := cmp.Diff(strings.Split(strings.TrimRight(body, "\n"), "\n"), strings.Split(strings.TrimRight(got, "\n"), "\n")); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		out.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(transcripts, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// review is an application's payload.
type review struct {
	File string `json:"file"`
}

func (r review) Validate() error {
	if r.File == "" {
		return &performatives.Refusal{Field: "file", Text: "file: want a name"}
	}
	return nil
}

// reviews is a registry that knows some message types.
func reviews(t testing.TB) *performatives.Registry {
	t.Helper()
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

func perform(t *testing.T, options, body string) string {
	o := Options{Name: "mcp-gateway", Version: "2.1.0", PerMessageAuth: true, BinaryProtocol: true, Rate: wire.Rate{Messages: 100, Window: time.Minute}}
	session := wire.CodecOptions{MaxBytes: 1 << 16, MaxPending: 64}
	for option := range strings.FieldsSeq(options) {
		switch option {
		case "initiator":
			session.Initiator = true
			session.Token = func() string { return "sesame" }
		case "gzip":
			session.Compression = []string{"gzip"}
		case "typed":
			session.Registry = reviews(t)
		case "small":
			session.MaxPending = 2
		default:
			t.Fatalf("option %q", option)
		}
	}
	s := &stage{t: t, codec: open(t, o, session), messages: map[string]*performatives.Message{}}
	for line := range strings.SplitSeq(strings.TrimRight(body, "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			continue
		}
		if strings.HasPrefix(line, "#") {
			fmt.Fprintln(&s.out, line)
			continue
		}
		s.play(line)
	}
	return s.out.String()
}
