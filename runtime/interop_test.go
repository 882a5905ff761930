package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// foreign writes and reads the JSON of one specification, without this module's codec. me is the
// agent that writes.
type foreign interface {
	// introduce offers the tasks double and wait.
	introduce(me string) string
	ask(me, id, to, task string, n float64) string
	// cancel withdraws the request with that id.
	cancel(me, id, to string) string
	read(frame []byte) heard
	// result and stopped answer a task: by its result, and after its CANCEL. about is the task, of
	// the CANCEL.
	result(me string, about heard, n float64) string
	stopped(me string, about heard) string
}

// heard is what a foreign agent reads of a frame.
type heard struct {
	kind hearing
	id   string // of the request
	ref  string // of the CANCEL itself, where the answer to that names it
	from string
	task string
	n    float64
	text string // the frame
}

type hearing int

const (
	heardOther   hearing = iota // such as TASK_ACCEPT
	heardWelcome                // the answer to the introduction
	heardTask
	heardCancel
	heardResult
	heardStopped // the receipt of a CANCEL
	heardNo      // any other refusal
)

// parsed decodes a frame. A test decodes what it needs, and nothing is strict.
func parsed[T any](frame []byte) (v T) {
	if err := json.Unmarshal(frame, &v); err != nil {
		panic(fmt.Sprintf("%v: %s", err, frame))
	}
	return v
}

// numbered is an object with the number of a task or a result.
type numbered struct {
	N float64 `json:"n"`
}

const interopTime = `"timestamp":"2026-01-30T10:30:00Z"`

type aclSpeaker struct{}

func (aclSpeaker) say(me, id, to, act, more, payload string) string {
	return fmt.Sprintf(`{"mcp_version":"0.1.0","message_id":%q,"performative":%q,"sender":{"agent_id":%q},"receiver":{"agent_id":%q},"protocol":"task-delegation",%s,%s"payload":%s}`,
		id, act, me, to, interopTime, more, payload)
}

func (aclSpeaker) about(h heard) string {
	return fmt.Sprintf(`"conversation_id":%q,"in_reply_to":%q,`, h.id, cmp.Or(h.ref, h.id))
}

func (a aclSpeaker) introduce(me string) string {
	return strings.Replace(a.say(me, string(p.NewID()), "system", "QUERY_CAPABILITIES", "", `{"query_type":"summary","capabilities":{"actions":[{"name":"double"},{"name":"wait"}]}}`),
		`"protocol":"task-delegation",`, "", 1)
}

func (a aclSpeaker) ask(me, id, to, task string, n float64) string {
	return a.say(me, id, to, "TASK_REQUEST", fmt.Sprintf(`"reply_with":%q,`, id), fmt.Sprintf(`{"task_type":%q,"task_parameters":{"n":%v}}`, task, n))
}

func (a aclSpeaker) cancel(me, id, to string) string {
	c := string(p.NewID())
	return a.say(me, c, to, "CANCEL", fmt.Sprintf(`"reply_with":%q,`, c)+a.about(heard{id: id}), `{}`)
}

func (a aclSpeaker) result(me string, h heard, n float64) string {
	return a.say(me, string(p.NewID()), h.from, "TASK_ACCEPT", a.about(h), `{"status":"accepted"}`) + "\n" +
		a.say(me, string(p.NewID()), h.from, "INFORM_RESULT", a.about(h), fmt.Sprintf(`{"task_status":"success","result_details":{"n":%v}}`, n))
}

func (a aclSpeaker) stopped(me string, h heard) string {
	return a.say(me, string(p.NewID()), h.from, "INFORM", a.about(h), `{"status":"done"}`)
}

func (aclSpeaker) read(frame []byte) heard {
	m := parsed[struct {
		ID           string `json:"message_id"`
		Act          string `json:"performative"`
		Conversation string `json:"conversation_id"`
		About        string `json:"in_reply_to"`
		Sender       struct {
			ID string `json:"agent_id"`
		}
		Payload struct {
			Task       string   `json:"task_type"`
			Parameters numbered `json:"task_parameters"`
			Details    numbered `json:"result_details"`
			Status     string
		}
	}](frame)
	h := heard{id: cmp.Or(m.Conversation, m.ID), from: m.Sender.ID, n: m.Payload.Details.N}
	switch m.Act {
	case "INFORM_CAPABILITIES":
		h.kind = heardWelcome
	case "TASK_REQUEST":
		h.kind, h.task, h.n, h.ref = heardTask, m.Payload.Task, m.Payload.Parameters.N, m.ID
	case "CANCEL":
		h.kind, h.ref = heardCancel, m.ID
	case "INFORM_RESULT":
		h.kind = heardResult
	case "INFORM":
		h.kind = heardStopped
	case "TASK_ACCEPT", "STATUS_UPDATE":
	default:
		h.kind = heardNo
	}
	return h
}

type bridgeSpeaker struct{}

func (bridgeSpeaker) say(me, id, to, kind, about, payload string) string {
	quoted := func(s string) string {
		if s == "" {
			return "null"
		}
		return strconv.Quote(s)
	}
	return fmt.Sprintf(`{"message_id":%q,"message_type":%q,"sender_id":%q,"receiver_id":%s,%s,"correlation_id":%s,"priority":"normal","payload":%s,"metadata":{"protocol":"task-delegation"}}`,
		id, kind, me, quoted(to), interopTime, quoted(about), payload)
}

func (b bridgeSpeaker) introduce(me string) string {
	return b.say(me, string(p.NewID()), "", "handshake_request", "", fmt.Sprintf(`{"agent_id":%q,"agent_name":"A program","agent_role":"worker","tools":["double","wait"]}`, me))
}

func (b bridgeSpeaker) ask(me, id, to, task string, n float64) string {
	return b.say(me, id, to, "request", "", fmt.Sprintf(`{"tool_name":%q,"arguments":{"n":%v},"timeout":60}`, task, n))
}

func (b bridgeSpeaker) cancel(me, id, to string) string {
	return b.say(me, string(p.NewID()), to, "notification", id, `{"event_type":"cancel","data":{}}`)
}

func (b bridgeSpeaker) result(me string, h heard, n float64) string {
	return b.say(me, string(p.NewID()), h.from, "response", h.id, fmt.Sprintf(`{"success":true,"result":{"n":%v},"execution_time":0.1,"error":null}`, n))
}

func (b bridgeSpeaker) stopped(me string, h heard) string {
	return b.say(me, string(p.NewID()), h.from, "error", h.id, `{"error_code":"EXECUTION_FAILED","error_message":"stopped","error_type":"execution"}`)
}

func (bridgeSpeaker) read(frame []byte) heard {
	m := parsed[struct {
		ID      string `json:"message_id"`
		Kind    string `json:"message_type"`
		About   string `json:"correlation_id"`
		Sender  string `json:"sender_id"`
		Payload struct {
			Tool      string `json:"tool_name"`
			Arguments numbered
			Event     string `json:"event_type"`
			Success   bool
			Result    numbered
			Details   struct {
				Reason string `json:"reason_code"`
			}
		}
	}](frame)
	h := heard{id: m.About, from: m.Sender, n: m.Payload.Result.N}
	switch {
	case m.Kind == "handshake_response":
		h.kind = heardWelcome
	case m.Kind == "request":
		h.kind, h.id, h.task, h.n = heardTask, m.ID, m.Payload.Tool, m.Payload.Arguments.N
	case m.Kind == "notification" && m.Payload.Event == "cancel":
		h.kind = heardCancel
	case m.Kind == "response" && m.Payload.Success:
		h.kind = heardResult
	case m.Kind == "error" && m.Payload.Details.Reason == "canceled":
		h.kind = heardStopped
	case m.Kind == "error":
		h.kind = heardNo
	}
	return h
}

type gatewaySpeaker struct{}

func (gatewaySpeaker) say(me, to, payload string) string {
	target := ""
	if to != "" {
		target = fmt.Sprintf(`"target_namespace":%q,`, to)
	}
	return fmt.Sprintf(`{"id":%q,%s,"source":%q,%s"mcp_payload":%s}`, p.NewID(), interopTime, me, target, payload)
}

func (g gatewaySpeaker) introduce(me string) string {
	return g.say(me, "", request(`"hello"`, "initialize", fmt.Sprintf(`{"protocolVersion":"1.1","clientInfo":{"name":%q,"version":"1"},"capabilities":{"tools":[{"name":"double"},{"name":"wait"}]}}`, me)))
}

func (g gatewaySpeaker) ask(me, id, to, task string, n float64) string {
	return g.say(me, to, request(strconv.Quote(id), "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"n":%v}}`, task, n)))
}

func (g gatewaySpeaker) cancel(me, id, to string) string {
	return g.say(me, to, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
}

func (g gatewaySpeaker) result(me string, h heard, n float64) string {
	return g.say(me, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"n":%v}}}`, h.id, n))
}

func (g gatewaySpeaker) stopped(me string, h heard) string {
	return g.say(me, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"stopped"}}`, h.id))
}

func (gatewaySpeaker) read(frame []byte) heard {
	m := parsed[struct {
		Source  string
		Payload struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments numbered
				Request   json.RawMessage `json:"requestId"`
			}
			Result *struct {
				Content numbered `json:"structuredContent"`
			}
			Error *struct{ Code int }
		} `json:"mcp_payload"`
	}](frame)
	h := heard{id: string(m.Payload.ID), from: m.Source}
	if own, err := strconv.Unquote(h.id); err == nil {
		h.id = own
	}
	switch r := m.Payload; {
	case h.id == "hello":
		h.kind = heardWelcome
	case r.Method == "tools/call":
		h.kind, h.task, h.n = heardTask, r.Params.Name, r.Params.Arguments.N
	case r.Method == "notifications/cancelled":
		h.kind, h.id = heardCancel, string(r.Params.Request)
	case r.Result != nil:
		h.kind, h.n = heardResult, r.Result.Content.N
	case r.Error != nil:
		h.kind = heardNo
	}
	return h
}

type ragSpeaker struct{}

func (ragSpeaker) say(me, trace, to, kind, payload string) string {
	return fmt.Sprintf(`{"type":%q,"sender":%q,"receiver":%q,"trace_id":%q,%s,"payload":%s,"metadata":{"protocol":"task-delegation"}}`, kind, me, to, trace, interopTime, payload)
}

func (r ragSpeaker) introduce(me string) string {
	return strings.Replace(r.say(me, "ret-reg-001", "System", "AGENT_REGISTRATION",
		fmt.Sprintf(`{"agent_id":%q,"agent_type":"worker","capabilities":["numbers"],"message_types":["DOUBLE","WAIT","CANCEL"],"status":"active"}`, me)), `,"metadata":{"protocol":"task-delegation"}`, "", 1)
}

func (r ragSpeaker) ask(me, id, to, task string, n float64) string {
	return r.say(me, "llm-"+id+"-001", to, strings.ToUpper(task), fmt.Sprintf(`{"n":%v}`, n))
}

func (r ragSpeaker) cancel(me, id, to string) string {
	return r.say(me, "llm-"+id+"-001", to, "CANCEL", `{}`)
}

func (r ragSpeaker) result(me string, h heard, n float64) string {
	return r.say(me, h.ref, h.from, strings.ToUpper(h.task)+"_RESULT", fmt.Sprintf(`{"n":%v}`, n))
}

func (r ragSpeaker) stopped(me string, h heard) string {
	return r.say(me, h.ref, h.from, "INFORM", `{"status":"done"}`)
}

func (ragSpeaker) read(frame []byte) heard {
	m := parsed[struct {
		Type, Sender string
		Trace        string `json:"trace_id"`
		Payload      struct {
			N        float64
			Original struct {
				Trace string `json:"trace_id"`
			} `json:"original_request"`
		}
	}](frame)
	id := strings.TrimSuffix(strings.TrimPrefix(cmp.Or(m.Payload.Original.Trace, m.Trace), "llm-"), "-001")
	h := heard{id: id, ref: m.Trace, from: m.Sender, n: m.Payload.N}
	switch m.Type {
	case "AGENT_REGISTRATION_RESULT":
		h.kind = heardWelcome
	case "DOUBLE", "WAIT":
		h.kind, h.task = heardTask, strings.ToLower(m.Type)
	case "CANCEL":
		h.kind = heardCancel
	case "DOUBLE_RESULT", "WAIT_RESULT":
		h.kind = heardResult
	case "INFORM":
		h.kind = heardStopped
	case "ERROR_MESSAGE":
		h.kind = heardNo
	}
	return h
}

type rossnetSpeaker struct{}

func (rossnetSpeaker) say(me, correlation, to, kind, payload string) string {
	return fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":%q,"sender_id":%q,"recipient_id":%q,%s,"version":"1.0","message_type":%q,"auth_token":null,"task_metadata":{"protocol":"task-delegation"}},"payload":%s}`,
		p.NewID(), correlation, me, to, interopTime, kind, payload)
}

func (r rossnetSpeaker) introduce(me string) string {
	return strings.Replace(r.say(me, "reg", "MCP_DISCOVERY", "DISCOVERY_REGISTER",
		fmt.Sprintf(`{"agent_id":%q,"agent_type":"worker","status":"ACTIVE","capabilities":[{"name":"double"},{"name":"wait"}]}`, me)), `,"task_metadata":{"protocol":"task-delegation"}`, "", 1)
}

func (r rossnetSpeaker) ask(me, id, to, task string, n float64) string {
	return r.say(me, id, to, "TASK_ASSIGN", fmt.Sprintf(`{"subtask_id":%q,"task_name":%q,"input_data":{"n":%v}}`, id, task, n))
}

func (r rossnetSpeaker) cancel(me, id, to string) string {
	return r.say(me, id, to, "CANCEL", fmt.Sprintf(`{"subtask_id":%q}`, id))
}

func (r rossnetSpeaker) result(me string, h heard, n float64) string {
	return r.say(me, h.ref, h.from, "TASK_ACKNOWLEDGE", fmt.Sprintf(`{"subtask_id":%q,"status":"ACCEPTED"}`, h.id)) + "\n" +
		r.say(me, h.ref, h.from, "STATUS_UPDATE", fmt.Sprintf(`{"subtask_id":%q,"progress_percentage":50,"status_description":"half"}`, h.id)) + "\n" +
		r.say(me, h.ref, h.from, "TASK_COMPLETE", fmt.Sprintf(`{"subtask_id":%q,"output_data":{"n":%v}}`, h.id, n))
}

func (r rossnetSpeaker) stopped(me string, h heard) string {
	return r.say(me, h.ref, h.from, "INFORM", `{"status":"done"}`)
}

func (rossnetSpeaker) read(frame []byte) heard {
	m := parsed[struct {
		Header struct {
			Kind        string `json:"message_type"`
			Correlation string `json:"correlation_id"`
			Sender      string `json:"sender_id"`
		} `json:"mcp_header"`
		Payload struct {
			Subtask string   `json:"subtask_id"`
			Task    string   `json:"task_name"`
			Input   numbered `json:"input_data"`
			Output  numbered `json:"output_data"`
		}
	}](frame)
	h := heard{id: cmp.Or(m.Payload.Subtask, m.Header.Correlation), ref: m.Header.Correlation, from: m.Header.Sender, n: m.Payload.Output.N}
	switch m.Header.Kind {
	case "DISCOVERY_ACK":
		h.kind = heardWelcome
	case "TASK_ASSIGN":
		h.kind, h.task, h.n = heardTask, m.Payload.Task, m.Payload.Input.N
	case "CANCEL":
		h.kind = heardCancel
	case "TASK_COMPLETE":
		h.kind = heardResult
	case "INFORM":
		h.kind = heardStopped
	case "TASK_FAIL", "ERROR":
		h.kind = heardNo
	}
	return h
}

// foreigner is a program that speaks one dialect. Its reader performs the tasks of others.
type foreigner struct {
	foreign
	t       *testing.T
	name    string
	conn    wire.Conn
	answers chan heard   // to its own requests, and the welcome
	began   chan float64 // the numbers of the tasks wait that run
	stops   chan float64 // and of those that it has stopped
	done    chan struct{}
}

// connectForeign connects a program, and introduces it.
func connectForeign(t *testing.T, name string, f foreign, dial func(context.Context) (wire.Conn, error)) *foreigner {
	t.Helper()
	a := dialForeign(t, name, f, dial)
	a.write(f.introduce(name))
	a.hear(heardWelcome)
	return a
}

// dialForeign connects a program.
func dialForeign(t *testing.T, name string, f foreign, dial func(context.Context) (wire.Conn, error)) *foreigner {
	t.Helper()
	conn, err := dial(patience.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &foreigner{
		foreign: f, t: t, name: name, conn: conn,
		answers: make(chan heard, 1024), began: make(chan float64, 1024), stops: make(chan float64, 1024), done: make(chan struct{}),
	}
	go a.run()
	t.Cleanup(func() { _ = conn.Close(); <-a.done })
	return a
}

// write writes frames, one in each line.
func (a *foreigner) write(frames string) {
	for text := range strings.SplitSeq(frames, "\n") {
		if err := a.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(text)}}); err != nil {
			a.t.Errorf("%s: %v", a.name, err)
		}
	}
}

func (a *foreigner) run() {
	defer close(a.done)
	waiting, early := make(map[string]heard), make(map[string]heard)
	for {
		data, err := a.conn.Read(func(f wire.Frame) {
			if f.Kind == wire.KindPing {
				_ = a.conn.Write([]wire.Frame{{Kind: wire.KindPong, Data: f.Data}}) // else Read fails, too
			}
		})
		if err != nil {
			return
		}
		h := a.read(data)
		h.text = string(data)
		switch h.kind {
		case heardOther:
		case heardTask:
			if cancel, over := early[h.id]; over { // the CANCEL has overtaken the task
				cancel.from = h.from
				a.write(a.stopped(a.name, cancel))
				break
			}
			if h.task == "wait" {
				waiting[h.id] = h
				a.began <- h.n
				break
			}
			a.write(a.result(a.name, h, 2*h.n))
		case heardCancel:
			task, runs := waiting[h.id]
			if !runs {
				early[h.id] = h
				break
			}
			delete(waiting, h.id)
			h.from = task.from
			a.write(a.stopped(a.name, h))
			a.stops <- task.n
		case heardWelcome, heardResult, heardStopped, heardNo:
			a.answers <- h
		}
	}
}

// hear waits for the next answer, which must be of that kind.
func (a *foreigner) hear(want hearing) heard {
	a.t.Helper()
	h := a.next()
	if h.kind != want {
		a.t.Fatalf("%s: got %d, want %d: %s", a.name, h.kind, want, h.text)
	}
	return h
}

// next waits for the next answer.
func (a *foreigner) next() heard {
	a.t.Helper()
	select {
	case h := <-a.answers:
		return h
	case <-patience.Context(a.t).Done():
		a.t.Fatalf("%s hears nothing", a.name)
		return heard{}
	}
}

// silent reports whether an agent gets no answer to a request that it has withdrawn (Model Context
// Protocol, Cancellation).
func (a *foreigner) silent() bool { _, is := a.foreign.(gatewaySpeaker); return is }

// interopSpeakers are those of all dialects.
var interopSpeakers = map[string]foreign{
	"acl": aclSpeaker{}, "bridge": bridgeSpeaker{}, "gateway": gatewaySpeaker{}, "rag": ragSpeaker{}, "rossnet": rossnetSpeaker{},
}

// interop is a node with its own agent Jules and a program of each dialect.
type interop struct {
	*hub
	programs    []*foreigner
	began       chan float64 // the numbers of the tasks wait that run at Jules
	stops       chan float64
	transitions *record
	violations  *record
	n           atomic.Int64
}

// number is another one for each task, so that nobody confuses them.
func (i *interop) number() float64 { return float64(i.n.Add(1)) }

// doubler is the agent of the swarm.
type doubler struct{ i *interop }

func (doubler) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "double"}, {Name: "wait"}}}
}

func (doubler) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (d doubler) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	in, err := p.Decode[numbered](t.Parameters)
	if err != nil {
		return p.InformResult{}, err
	}
	if t.TaskType == "wait" {
		d.i.began <- in.N
		<-ctx.Done()
		d.i.stops <- in.N
		return p.InformResult{}, context.Cause(ctx)
	}
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]float64{"n": 2 * in.N})}, nil
}

// allDialects are those of one listener.
func allDialects(t testing.TB) []wire.Dialect {
	t.Helper()
	rpc := gateway.New(gateway.Options{})
	return []wire.Dialect{rpc, bridge.Dialect{}, rag.Dialect{}, rossnet.Dialect{}, acl.Dialect{}}
}

// newInterop connects the programs, each in its dialect, all over one listener.
func newInterop(t *testing.T, over transport) *interop {
	t.Helper()
	node := newNode(t, runtime.Options{Name: "hub", Watch: &watch.Options{}})
	h := newHubOf(t, node, noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(t) })
	i := &interop{
		hub: h, began: make(chan float64, 1024), stops: make(chan float64, 1024),
		transitions: listen(t, node, lifecycle.KindTransition), violations: listen(t, node, lifecycle.KindViolation),
	}
	h.spawn("Jules", func() actors.Agent { return doubler{i} })
	addr := serve(t, over, h.server)
	for name, f := range interopSpeakers {
		name += "-agent"
		i.programs = append(i.programs, connectForeign(t, name, f, func(ctx context.Context) (wire.Conn, error) { return over.dial(ctx, addr) }))
		h.awaitVisible(p.AgentID(name))
	}
	slices.SortFunc(i.programs, func(a, b *foreigner) int { return strings.Compare(a.name, b.name) })
	return i
}

// worker is who performs a task: a program or the agent of the swarm.
type interopWorker struct {
	name         string
	began, stops chan float64
}

func (i *interop) workers() (all []interopWorker) {
	for _, a := range i.programs {
		all = append(all, interopWorker{a.name, a.began, a.stops})
	}
	return append(all, interopWorker{"Jules", i.began, i.stops})
}

// expect waits for the number of a task.
func expect(t *testing.T, what string, from chan float64, want float64) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("%s: got the task %v, want %v", what, got, want)
		}
	case <-patience.Context(t).Done():
		t.Fatalf("%s: nothing happens", what)
	}
}

// settle waits until nothing is under way on the node, and expects that the monitor has watched so
// many conversations, and no message has broken a table.
func (i *interop) settle(t *testing.T, watched uint64) {
	t.Helper()
	for ctx := patience.Context(t); len(i.Conversations()) > 0 || i.OpenRecords() > 0; {
		select {
		case <-ctx.Done():
			t.Fatalf("under way at the end: %+v, %d relayed", i.Conversations(), i.OpenRecords())
		case <-time.After(time.Millisecond):
		}
	}
	if err := i.Stop(patience.Context(t)); err != nil { // the watch has checked everything
		t.Fatal(err)
	}
	if counts := i.WatchCounts(); counts.Conversations != watched || counts.Dropped > 0 || counts.Left > 0 {
		t.Errorf("the monitor: %+v", counts)
	}
	skipped := 0
	for _, e := range i.violations.all() {
		v := e.(lifecycle.Violation)
		switch v.Sender { // the dialects of these have no word for TASK_ACCEPT, which their programs therefore leave out
		case "bridge-agent", "gateway-agent", "rag-agent":
			if v.Got.Act == p.ActInformResult && slices.Contains(v.Expected, machine.Utterance{From: machine.Responder, Act: p.ActTaskAccept}) {
				skipped++
				continue
			}
		}
		t.Errorf("the monitor: %s of %s to %s: %v", v.Message.Performative(), v.Sender, v.Receiver, v.ViolationError)
	}
	if want := 13; skipped != want { // a task of each of the three from each of the others that name the protocol, and from the swarm
		t.Errorf("%d results without an acceptance, want %d", skipped, want)
	}
}

// TestInterop has a program of each dialect and the agent of a swarm call each other. Each performs
// a task of each, and each task that is withdrawn ends at its worker and, with a receipt, at its
// asker.
func TestInterop(t *testing.T) {
	for name, over := range map[string]transport{"ws": overWS, "tcp": overTCP} {
		t.Run(name, func(t *testing.T) {
			i := newInterop(t, over)
			for _, asker := range i.programs {
				for _, w := range i.workers() {
					if w.name == asker.name {
						continue
					}
					n := i.number()
					asker.write(asker.ask(asker.name, fmt.Sprintf("call%v", n), w.name, "double", n))
					if h := asker.hear(heardResult); h.n != 2*n || h.id != fmt.Sprintf("call%v", n) {
						t.Errorf("%s asks %s for %v: %s", asker.name, w.name, n, h.text)
					}
					n = i.number()
					id := fmt.Sprintf("call%v", n)
					asker.write(asker.ask(asker.name, id, w.name, "wait", n))
					expect(t, w.name+" begins", w.began, n)
					asker.write(asker.cancel(asker.name, id, w.name))
					expect(t, w.name+" stops", w.stops, n)
					if asker.silent() {
						continue
					}
					if h := asker.hear(heardStopped); h.id != id {
						t.Errorf("%s cancels at %s: %s", asker.name, w.name, h.text)
					}
				}
			}
			for _, w := range i.programs {
				n := i.number()
				r, err := i.Delegate(patience.Context(t), p.AgentID(w.name), p.TaskRequest{TaskType: "double", Parameters: p.ContentOf(map[string]float64{"n": n})})
				if got, errDecode := p.Decode[numbered](r.Details); err != nil || errDecode != nil || got.N != 2*n {
					t.Errorf("the swarm asks %s: %+v, %v, %v", w.name, r, err, errDecode)
				}
				n = i.number()
				ctx, cancel := context.WithCancel(patience.Context(t))
				ended := make(chan error, 1)
				go func() {
					_, err := i.Delegate(ctx, p.AgentID(w.name), p.TaskRequest{TaskType: "wait", Parameters: p.ContentOf(map[string]float64{"n": n})})
					ended <- err
				}()
				expect(t, w.name+" begins", w.began, n)
				cancel()
				expect(t, w.name+" stops", w.stops, n)
				var end *codons.EndError
				if err := <-ended; !errors.As(err, &end) || end.State != "cancelled" {
					t.Errorf("the swarm cancels at %s: %v", w.name, err)
				}
			}
			i.settle(t, 50) // not those that the gateway agent begins: it cannot name the protocol
			ends := make(map[string]int)
			for _, e := range i.transitions.all() {
				if e := e.(lifecycle.Transition); e.Ended {
					ends[fmt.Sprint(e.Agent == "Jules", " ", e.To)]++
				}
			}
			want := map[string]int{"true completed": 5, "true cancelled": 5, "false completed": 5, "false cancelled": 5}
			if fmt.Sprint(ends) != fmt.Sprint(want) {
				t.Errorf("the conversations have ended as %v, want %v", ends, want)
			}
		})
	}
}

// TestCancelBeforeItsRequest has a program of each dialect withdraw a request before it sends it:
// the work never begins, the asker gets an error of its own dialect, and its next request is
// served.
func TestCancelBeforeItsRequest(t *testing.T) {
	i := newInterop(t, overTCP)
	for _, asker := range i.programs {
		t.Run(asker.name, func(t *testing.T) {
			for _, w := range i.workers() {
				if w.name == asker.name {
					continue
				}
				n := i.number()
				id := fmt.Sprintf("call%v", n)
				asker.write(asker.cancel(asker.name, id, w.name))
				asker.write(asker.ask(asker.name, id, w.name, "wait", n))
				next := i.number()
				asker.write(asker.ask(asker.name, fmt.Sprintf("call%v", next), w.name, "double", next))
				for told, served := false, false; !told || !served; { // a worker may do both at once
					switch h := asker.next(); {
					case h.kind == heardResult && h.n != 2*next:
						t.Fatalf("%s asks %s for %v: %s", asker.name, w.name, next, h.text)
					case h.kind == heardResult:
						served = true
					case h.id == id: // else it is one more answer to what was withdrawn before
						told = true
					}
				}
			}
		})
	}
	for _, w := range i.workers() {
		if n := len(w.began); n > 0 {
			t.Errorf("%s has begun %d of the withdrawn tasks", w.name, n)
		}
	}
}
