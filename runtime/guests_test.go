package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// speech is what a program writes in one dialect. Each text has the program's name for $S and an
// agent for $R.
type speech struct {
	register string
	ask      string // the task hold, with the number $N
	cancel   string // of ask
	about    string // a part of each answer to ask
	failed   string // a malformed failure of a worker about $Q, to $R
	wrong    string // a part of what tells the worker
}

const rossNetFrame = `{"mcp_header":{"message_id":"$I","correlation_id":"c1","sender_id":"$S","recipient_id":"$R","timestamp":"2025-01-30T10:30:00Z","version":"1.0","message_type":"$T"},"payload":$P}`

func rossNet(id, kind, to, payload string) string {
	return strings.NewReplacer("$I", id, "$T", kind, "$R", to, "$P", payload).Replace(rossNetFrame)
}

func speeches() map[string]speech {
	acl := func(id, act, to, more, payload string) string {
		return `{"message_id":"` + id + `","performative":"` + act + `","sender":{"agent_id":"$S"},"receiver":{"agent_id":"` + to + `"},"timestamp":"2025-01-30T10:30:00Z",` + more + `"payload":` + payload + `}`
	}
	bridge := func(id, kind, to, about, payload string) string {
		return `{"message_id":"` + id + `","message_type":"` + kind + `","sender_id":"$S","receiver_id":` + to + `,"timestamp":"2025-01-30T10:30:00Z","correlation_id":` + about + `,"priority":"normal","payload":` + payload + `}`
	}
	rag := func(kind, to, trace, payload string) string {
		return `{"type":"` + kind + `","sender":"$S","receiver":"` + to + `","trace_id":"` + trace + `","timestamp":"2025-01-30T10:30:00Z","payload":` + payload + `}`
	}
	gateway := func(payload string) string {
		return `{"id":"e","timestamp":"2025-01-30T10:30:00.000Z","source":"$S","target_namespace":"$R","mcp_payload":` + payload + `}`
	}
	return map[string]speech{
		"acl": {
			register: acl("r", "QUERY_CAPABILITIES", "system", "", `{"query_type":"summary","capabilities":{"topics":["t"]}}`),
			ask:      acl("q", "TASK_REQUEST", "$R", "", `{"task_type":"hold","task_parameters":{"n":$N}}`),
			cancel:   acl("x", "CANCEL", "$R", `"in_reply_to":"q","conversation_id":"q",`, `{"reason":"r"}`),
			about:    `"in_reply_to":"q"`,
			failed:   acl("f", "FAILURE", "$R", `"in_reply_to":"$Q",`, `{"error_text":"out of paper","error_code":7}`),
			wrong:    `"performative":"NOT_UNDERSTOOD"`,
		},
		"bridge": {
			register: bridge("r", "handshake_request", "null", "null", `{"agent_id":"$S","agent_name":"A","agent_role":"r","tools":[],"version":"0.1.0","metadata":{}}`),
			ask:      bridge("q", "request", `"$R"`, "null", `{"tool_name":"hold","arguments":{"n":$N}}`),
			cancel:   bridge("x", "notification", `"$R"`, `"q"`, `{"event_type":"cancel","data":{"reason":"r"}}`),
			about:    `"correlation_id":"q"`,
			failed:   bridge("f", "error", `"$R"`, `"$Q"`, `{"error_message":"out of paper"}`),
			wrong:    `payload.error_code`,
		},
		"rag": {
			register: rag("AGENT_REGISTRATION", "System", "ret-r-001", `{"agent_id":"$S","agent_type":"t","capabilities":["c"],"message_types":[],"status":"active"}`),
			ask:      rag("HOLD", "$R", "ret-q-001", `{"n":$N}`),
			cancel:   rag("CANCEL", "$R", "ret-q-001", `{"reason":"r"}`),
			about:    `"ret-q-001"`,
			failed:   rag("ERROR_MESSAGE", "$R", "$Q", `{"error_message":"out of paper"}`),
			wrong:    `payload.error_code`,
		},
		"rossnet": {
			register: rossNet("r", "DISCOVERY_REGISTER", "MCP_DISCOVERY", `{"agent_id":"$S","agent_type":"t","status":"ACTIVE","capabilities":["c"]}`),
			ask:      rossNet("q", "TASK_ASSIGN", "$R", `{"subtask_id":"s1","task_name":"hold","input_data":{"n":$N}}`),
			cancel:   rossNet("x", "CANCEL", "$R", `{"subtask_id":"s1","reason":"r"}`),
			about:    `"subtask_id":"s1"`,
			failed:   rossNet("f", "ERROR", "$R", `{"subtask_id":"$Q","error_message":"out of paper"}`),
			wrong:    `payload.error_code`,
		},
		"gateway": {
			register: strings.Replace(gateway(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1.0","capabilities":{"topics":["t"]}}}`), "$R", "system", 1),
			ask:      gateway(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold","arguments":{"n":$N}}}`),
			cancel:   gateway(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}`),
			about:    `"id":7`,
			failed:   strings.Replace(gateway(`{"jsonrpc":"2.0","id":$Q,"error":{"code":-32603,"message":"out of paper"}}`), `"2025-01-30T10:30:00.000Z"`, `"today"`, 1),
			wrong:    `timestamp`,
		},
	}
}

// speaker is a program that writes one dialect.
type speaker struct {
	*program
	speech
}

// holdHub is a node with the dialects of all specifications, and an agent whose tasks wait.
type holdHub struct {
	*gatewayHub
	begun   chan float64
	release chan struct{}
	ended   chan error
}

func newHoldHub(t *testing.T) *holdHub {
	t.Helper()
	return newHoldHubOf(t, newNode(t, runtime.Options{Name: "hub"}), "Jules")
}

func newHoldHubOf(t *testing.T, n *runtime.Node, agent p.AgentID) *holdHub {
	t.Helper()
	d := gateway.New(gateway.Options{})
	h := newHubOf(t, n, runtime.PeerOptions{}, func(o *wire.Options) {
		o.Dialects = []wire.Dialect{acl.Dialect{}, bridge.Dialect{}, rag.Dialect{}, rossnet.Dialect{}, d}
	})
	l, err := tcp.Listen(h.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	all := &holdHub{&gatewayHub{h, l.Addr().String()}, make(chan float64, 8), make(chan struct{}), make(chan error, 8)}
	h.spawn(agent, returning(holder{worker{func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
		in, err := p.Decode[struct {
			N float64 `json:"n"`
		}](task.Parameters)
		if err != nil {
			return p.InformResult{}, err
		}
		all.begun <- in.N
		select {
		case <-all.release:
			return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]float64{"done": 100 + in.N})}, nil
		case <-ctx.Done():
			all.ended <- context.Cause(ctx)
			return p.InformResult{}, ctx.Err()
		}
	}}}))
	return all
}

// holder performs several tasks at once.
type holder struct{ worker }

func (holder) MaxTasks() int { return 3 }

func (h *holdHub) speaker(s speech) *speaker { return &speaker{h.program("vscode-user"), s} }

// begins waits until the task with that number has begun.
func (h *holdHub) begins(n float64) {
	h.t.Helper()
	select {
	case got := <-h.begun:
		if got != n {
			h.t.Fatalf("the task %v has begun, want %v", got, n)
		}
	case <-time.After(patience.Time):
		h.t.Fatalf("the task %v has not begun", n)
	}
}

// say writes a text with values for its variables.
func (s *speaker) say(text string, values ...string) {
	s.t.Helper()
	s.write(strings.NewReplacer(append(values, "$S", s.name)...).Replace(text))
}

// hear reads until a message with all those parts.
func (s *speaker) hear(parts ...string) string {
	s.t.Helper()
	for {
		text, missing := string(s.frame()), false
		for _, part := range parts {
			missing = missing || !strings.Contains(text, part)
		}
		if !missing {
			return text
		}
	}
}

func eachSpeech(t *testing.T, test func(t *testing.T, h *holdHub, s speech)) {
	for name, s := range speeches() {
		t.Run(name, func(t *testing.T) { test(t, newHoldHub(t), s) })
	}
}

// Three windows of one program send under the same id, with the same ids of messages. One cancels,
// one ends, and the third gets its own result.
func TestGuestsAreClientsOfTheirOwn(t *testing.T) {
	eachSpeech(t, func(t *testing.T, h *holdHub, s speech) {
		if strings.Contains(s.register, "handshake") {
			t.Skip("each peer of bridge shakes hands, and so owns its id")
		}
		first, second, third := h.speaker(s), h.speaker(s), h.speaker(s)
		for i, window := range []*speaker{first, second, third} {
			window.say(s.ask, "$R", "Jules", "$N", fmt.Sprint(i+1))
			h.begins(float64(i + 1))
		}
		first.say(s.cancel, "$R", "Jules")
		if err := <-h.ended; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the cancelled task ended with %v", err)
		}
		_ = second.conn.Close()
		if err := <-h.ended; errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the task of the window that was closed ended with %v", err)
		}
		close(h.release)
		third.hear(s.about, `"done":103`)
	})
}

// An id that a session has registered opens a second connection while an agent of the node and one
// of another session work for it. Both answers come over the second connection, in the form of the
// dialect.
func TestAnswersFollowAnOwnedID(t *testing.T) {
	eachSpeech(t, func(t *testing.T, h *holdHub, s speech) {
		for _, to := range []string{"Jules", "Ext"} {
			testFollowing(t, h, h, h, s, to, nil)
		}
	})
}

// The second connection may be one to another node, and the worker of any.
func TestAnswersFollowAnOwnedIDToAnotherNode(t *testing.T) {
	for name, s := range speeches() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for gossip, mostly
			nodes := newCluster(t, 3)
			var hubs []*holdHub
			for i, n := range nodes {
				hubs = append(hubs, newHoldHubOf(t, n, p.AgentID(fmt.Sprint("Jules", i+1))))
			}
			for i := range nodes {
				for _, n := range nodes {
					isAt(t, n, p.AgentID(fmt.Sprint("Jules", i+1)), nodes[i].Name())
				}
			}
			for i, h := range hubs {
				for _, to := range []string{fmt.Sprint("Jules", i+1), fmt.Sprint("Ext", i+1)} {
					testFollowing(t, hubs[0], hubs[1], h, s, to, func(asker string) {
						if i != 1 { // else the answer is at the second node before the first one knows of the connection
							for _, n := range nodes {
								isAt(t, n, p.AgentID(asker), "n2")
							}
						}
					})
				}
			}
		})
	}
}

// The node of the first connection may stop before the answer.
func TestAnswersFollowFromANodeThatStops(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	for works := 1; works < 3; works++ {
		nodes := newCluster(t, 3)
		var hubs []*holdHub
		for i, n := range nodes {
			hubs = append(hubs, newHoldHubOf(t, n, p.AgentID(fmt.Sprint("Jules", i+1))))
		}
		to := fmt.Sprint("Ext", works+1)
		testFollowing(t, hubs[0], hubs[1], hubs[works], speeches()["acl"], to, func(asker string) {
			for _, n := range nodes {
				isAt(t, n, p.AgentID(asker), "n2")
			}
			hubs[0].stopServer()
			if err := nodes[0].Stop(patience.Context(t)); err != nil {
				t.Error(err)
			}
			for _, n := range nodes[1:] {
				eventually(t, n, func() error {
					if got := len(n.Members()); got != 2 {
						return fmt.Errorf("%s knows %d members", n.Name(), got)
					}
					return nil
				})
			}
		})
	}
}

// isAt waits until a node knows that an agent is at a node.
func isAt(t *testing.T, n *runtime.Node, id p.AgentID, at string) {
	t.Helper()
	eventually(t, n, func() error {
		if e, ok := n.Directory().Lookup(id); !ok || e.Node != at {
			return fmt.Errorf("%s has %s at %+v", n.Name(), id, e)
		}
		return nil
	})
}

// testFollowing has an id that it registers at the first hub ask an agent of another one, or one of
// a session with that if the name begins with Ext. The id registers at the second hub then.
func testFollowing(t *testing.T, at, next, works *holdHub, s speech, to string, moved func(asker string)) {
	s.register = strings.Replace(s.register, `"tools":[]`, `"tools":["x"]`, 1) // other nodes see it
	id := "$S-" + to
	s.register, s.ask = strings.ReplaceAll(s.register, "$S", id), strings.ReplaceAll(s.ask, "$S", id)
	ext := newCaller(t, works.hub, nil)
	if strings.HasPrefix(to, "Ext") {
		ext.say(message(t, p.AgentID(to), "system", p.ActQueryCapabilities, offers("hold")))
		ext.answer(1)
		isAt(t, at.Node, p.AgentID(to), works.Name())
	}
	first := at.speaker(s)
	first.say(s.register)
	first.frame()
	if moved != nil {
		isAt(t, next.Node, p.AgentID("vscode-user-"+to), at.Name())
	}
	first.say(s.ask, "$R", to, "$N", "1")
	var request *p.Message
	if strings.HasPrefix(to, "Ext") {
		request = ext.answer(2)
	} else {
		works.begins(1)
	}
	second := next.speaker(s)
	second.say(s.register)
	second.frame()
	if moved != nil {
		moved("vscode-user-" + to)
	}
	if request == nil {
		works.release <- struct{}{}
	} else {
		result := p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]int{"done": 101})}
		answer, err := request.ReplyFrom(p.AgentID(to), works.System().Stamp(), p.ActInformResult, result)
		if err != nil {
			t.Fatal(err)
		}
		ext.say(answer)
	}
	second.hear(s.about, `"done":101`)
}

// An id that another connection has registered is not in the way of a guest, nor the guest in that
// of the owner.
func TestGuestBesideAnOwner(t *testing.T) {
	eachSpeech(t, func(t *testing.T, h *holdHub, s speech) {
		if strings.Contains(s.register, "handshake") {
			t.Skip("each peer of bridge shakes hands, and so owns its id")
		}
		guest, owner := h.speaker(s), h.speaker(s)
		guest.say(s.ask, "$R", "Jules", "$N", "1")
		h.begins(1)
		owner.say(s.register)
		owner.frame()
		owner.say(s.ask, "$R", "Jules", "$N", "2")
		h.begins(2)
		close(h.release)
		guest.hear(s.about, `"done":101`)
		owner.hear(s.about, `"done":102`)
	})
}

// A worker's failure that cannot be read, and that names a service, the node or no agent as its
// receiver, ends the request that it is about, with its text. The worker is told what was wrong.
func TestMalformedFailureEndsTheWait(t *testing.T) {
	reference := map[string]string{
		"acl": `"message_id":"([^"]+)"`, "bridge": `"message_id":"([^"]+)"`, "rag": `"trace_id":"([^"]+)"`,
		"rossnet": `"subtask_id":"([^"]+)"`, "gateway": `"id":([0-9]+)[,}]`,
	}
	for name, s := range speeches() {
		t.Run(name, func(t *testing.T) {
			h := newHoldHub(t)
			w := h.speaker(s)
			w.say(s.register)
			w.frame()
			for _, to := range []string{"MCP_ROUTER", "hub", "Nobody"} {
				told := make(chan error, 1)
				go func() {
					_, err := h.Delegate(patience.Context(t), "vscode-user", task("hold"))
					told <- err
				}()
				text := w.frame()
				at := regexp.MustCompile(reference[name]).FindSubmatch(text)
				if at == nil {
					t.Fatalf("the worker gets %s", text)
				}
				w.say(s.failed, "$R", to, "$Q", string(at[1]))
				if err := <-told; err == nil || !strings.Contains(err.Error(), "out of paper") {
					t.Errorf("to %s: the asker is told %v", to, err)
				}
				w.hear(s.wrong)
			}
		})
	}
}

// An agent of the node cannot be spoken for, nor can what has the name of a namespace.
func TestGuestsUnderTakenNames(t *testing.T) {
	h := newHoldHub(t)
	s := speeches()["acl"]
	for _, name := range []string{"Jules", "hub", "system", "MCP_ROUTER"} {
		c := &speaker{h.program(name), s}
		c.say(s.ask, "$R", "Jules", "$N", "1")
		c.hear(s.about, `"forbidden"`)
	}
}
