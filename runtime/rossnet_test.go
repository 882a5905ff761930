package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// rossNetPeer is a program that writes and reads the JSON of the specification, without this
// module's codec.
type rossNetPeer struct {
	t    *testing.T
	name string
	conn wire.Conn
}

type rossNetHub struct {
	*hub
	over transport
	addr string
}

// eachRossNetHub runs a test over WebSocket and TCP.
func eachRossNetHub(t *testing.T, test func(t *testing.T, h *rossNetHub)) {
	t.Helper()
	for name, over := range map[string]transport{"ws": overWS, "tcp": overTCP} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, runtime.PeerOptions{}, func(o *wire.Options) { o.Dialects = []wire.Dialect{acl.Dialect{}, rossnet.Dialect{}} })
			addr := serve(t, over, h.server)
			test(t, &rossNetHub{h, over, addr})
		})
	}
}

func (h *rossNetHub) connect(name string) *rossNetPeer {
	t := h.t.(*testing.T)
	t.Helper()
	conn, err := h.over.dial(patience.Context(t), h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	context.AfterFunc(patience.Context(t), func() { _ = conn.Close() }) // so that a missing frame ends the test
	return &rossNetPeer{t, name, conn}
}

func (r *rossNetPeer) write(frame string) {
	r.t.Helper()
	if err := r.conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rossNetPeer) send(kind, to, correlation, payload string) {
	r.t.Helper()
	r.write(fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":%q,"sender_id":%q,"recipient_id":%q,"timestamp":"2025-01-30T10:30:00Z","version":"1.0","message_type":%q,"auth_token":null},"payload":%s}`,
		p.NewID(), correlation, r.name, to, kind, payload))
}

// rossNetMessage is what the program reads of a message.
type rossNetMessage struct {
	Header struct {
		Kind        string  `json:"message_type"`
		Correlation *string `json:"correlation_id"`
		Sender      string  `json:"sender_id"`
		Recipient   string  `json:"recipient_id"`
		Target      string  `json:"target_agent_id"`
		Task        struct {
			HandledBy string `json:"handled_by"`
		} `json:"task_metadata"`
	} `json:"mcp_header"`
	Payload struct {
		Subtask     string          `json:"subtask_id"`
		Task        string          `json:"task_name"`
		Status      string          `json:"status"`
		Progress    float64         `json:"progress_percentage"`
		Input       json.RawMessage `json:"input_data"`
		Output      json.RawMessage `json:"output_data"`
		Result      json.RawMessage `json:"result"`
		Code        string          `json:"error_code"`
		Field       string          `json:"field"`
		AgentID     string          `json:"agent_id"`
		Description string          `json:"status_description"`
		Results     []struct {
			ID     string `json:"agent_id"`
			Status string `json:"status"`
		} `json:"results"`
	} `json:"payload"`
}

// next reads the next message, which must be of that type.
func (r *rossNetPeer) next(kind string) (m rossNetMessage) {
	r.t.Helper()
	data, err := r.conn.Read(func(wire.Frame) {})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Header.Kind != kind {
		r.t.Fatalf("want %s, got %s (%v)", kind, data, err)
	}
	return m
}

func (r *rossNetPeer) register(status string, capabilities ...string) {
	r.t.Helper()
	list, _ := json.Marshal(append([]string{}, capabilities...)) // strings always have a JSON form
	r.send("DISCOVERY_REGISTER", "MCP_DISCOVERY", "reg", fmt.Sprintf(`{"agent_id":%q,"agent_type":"worker","status":%q,"capabilities":%s}`, r.name, status, list))
	if m := r.next("DISCOVERY_ACK"); m.Payload.AgentID != r.name || m.Payload.Status != "registered" || *m.Header.Correlation != "reg" || m.Header.Sender != "MCP_DISCOVERY" {
		r.t.Errorf("registered: %+v", m)
	}
}

// task is a TASK_ASSIGN with that subtask_id.
func (r *rossNetPeer) assign(to, subtask, task, input string) {
	r.t.Helper()
	r.send("TASK_ASSIGN", to, "flow", fmt.Sprintf(`{"subtask_id":%q,"task_name":%q,"input_data":%s}`, subtask, task, input))
}

// rossNetWorker is an agent of the node.
type rossNetWorker struct{ stopped chan<- struct{} }

func (rossNetWorker) Receive(*actors.Context, *p.Message) {}

func (rossNetWorker) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: "double"}, {Name: "break"}, {Name: "wait"}}}
}

func (rossNetWorker) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType == "dance" {
		return delegation.Reject(p.CodeIncapable, "")
	}
	return delegation.Accept()
}

func (r rossNetWorker) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	switch t.TaskType {
	case "break":
		return p.InformResult{}, errors.New("broken")
	case "wait":
		<-ctx.Done()
		r.stopped <- struct{}{}
		return p.InformResult{}, ctx.Err()
	}
	if err := t.Progress(50, "half"); err != nil {
		return p.InformResult{}, err
	}
	in, err := p.Decode[struct {
		N int `json:"n"`
	}](t.Parameters)
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]int{"n": 2 * in.N})}, err
}

// A controller assigns tasks to an agent of the node, and gets the acknowledgement, the status and
// the outcome of each.
func TestRossNetController(t *testing.T) {
	eachRossNetHub(t, func(t *testing.T, h *rossNetHub) {
		stopped := make(chan struct{}, 1)
		h.spawn("Jules", func() actors.Agent { return rossNetWorker{stopped} })
		c := h.connect("Controller")
		c.assign("Jules", "s-1", "double", `{"n":21}`)
		if m := c.next("TASK_ACKNOWLEDGE"); m.Payload.Status != "ACCEPTED" || m.Payload.Subtask != "s-1" || *m.Header.Correlation != "flow" || m.Header.Recipient != "Controller" {
			t.Errorf("acknowledged: %+v", m)
		}
		if m := c.next("STATUS_UPDATE"); m.Payload.Progress != 50 || m.Payload.Subtask != "s-1" || m.Payload.Description != "half" {
			t.Errorf("status: %+v", m)
		}
		if m := c.next("TASK_COMPLETE"); string(m.Payload.Output) != `{"n":42}` || m.Payload.Subtask != "s-1" || m.Header.Task.HandledBy != "" {
			t.Errorf("completed: %+v", m)
		}
		c.assign("Jules", "s-2", "break", `{}`)
		c.next("TASK_ACKNOWLEDGE")
		if m := c.next("TASK_FAIL"); m.Payload.Subtask != "s-2" || m.Payload.Code != "E999" {
			t.Errorf("failed: %+v", m)
		}
		c.assign("Jules", "s-3", "dance", `{}`)
		if m := c.next("TASK_ACKNOWLEDGE"); m.Payload.Status != "REJECTED" || m.Payload.Code != "E009" {
			t.Errorf("rejected: %+v", m)
		}
		c.assign("Jules", "s-4", "wait", `{}`)
		c.next("TASK_ACKNOWLEDGE")
		c.send("CANCEL", "Jules", "flow", `{"subtask_id":"s-4","reason":"enough"}`)
		if m := c.next("INFORM"); *m.Header.Correlation != "flow" {
			t.Errorf("cancelled: %+v", m)
		}
		select {
		case <-stopped:
		case <-patience.Context(t).Done():
			t.Error("the work goes on")
		}
		c.assign("Nobody", "s-5", "double", `{}`)
		if m := c.next("TASK_FAIL"); m.Payload.Code != "E004" || m.Payload.Subtask != "s-5" {
			t.Errorf("to nobody: %+v", m)
		}
		c.assign("MCP_ROUTER", "s-6", "double", `{"n":1}`)
		c.next("TASK_ACKNOWLEDGE")
		c.next("STATUS_UPDATE")
		if m := c.next("TASK_COMPLETE"); string(m.Payload.Output) != `{"n":2}` || m.Header.Sender != "MCP_ROUTER" || m.Header.Task.HandledBy != "Jules" {
			t.Errorf("routed: %+v", m)
		}
		c.write(`{"mcp_header":{"sender_id":"Controller","target_agent_id":null,"target_service":"MCP_ROUTER","timestamp":"2025-01-30T10:30:00","version":"1.0","message_type":"PING"},"payload":{}}`)
		if m := c.next("PONG"); m.Payload.Status != "acknowledged" || m.Header.Correlation != nil || m.Header.Target != "Controller" {
			t.Errorf("pong: %+v", m)
		}
		c.write(`{"mcp_header":{"sender_id":"Controller"`)
		if m := c.next("ERROR"); m.Payload.Code != "E003" {
			t.Errorf("broken: %+v", m)
		}
	})
}

// A worker registers, is found, and takes tasks of the swarm and of a client in the field.
func TestRossNetWorker(t *testing.T) {
	eachRossNetHub(t, func(t *testing.T, h *rossNetHub) {
		w := h.connect("Worker")
		w.register("active", " Web_Search ")
		h.awaitVisible("Worker")
		type outcome struct {
			result p.InformResult
			err    error
		}
		delegate := func() chan outcome {
			done := make(chan outcome, 1)
			go func() {
				r, err := h.Delegate(patience.Context(t), "Worker", p.TaskRequest{TaskType: "web_search", Parameters: p.ContentOf(map[string]any{"q": "x"})})
				done <- outcome{r, err}
			}()
			return done
		}
		reply := func(kind string, m rossNetMessage, rest string) {
			w.send(kind, m.Header.Sender, *m.Header.Correlation, fmt.Sprintf(`{"subtask_id":%q,%s}`, m.Payload.Subtask, rest))
		}
		done := delegate()
		m := w.next("TASK_ASSIGN")
		if m.Payload.Task != "web_search" || string(m.Payload.Input) != `{"q":"x"}` || m.Payload.Subtask == "" {
			t.Errorf("assigned: %+v", m)
		}
		reply("TASK_ACKNOWLEDGE", m, `"status":"ACCEPTED"`)
		reply("STATUS_UPDATE", m, `"progress_percentage":10,"status_description":"on it"`)
		m.Header.Sender = "MCP_ROUTER" // the service stands for the asker
		reply("TASK_COMPLETE", m, `"output_data":{"hits":3}`)
		if got := <-done; got.err != nil || !got.result.Details.Equal(p.RawContent(json.RawMessage(`{"hits":3}`))) {
			t.Errorf("got %+v", got)
		}
		done = delegate()
		reply("TASK_FAIL", w.next("TASK_ASSIGN"), `"error_code":"E007","error_message":"API down","is_retryable":true`)
		if got := <-done; !errors.Is(got.err, p.Code("dependency_failed")) {
			t.Errorf("got %+v", got)
		}

		// Of the field: the payload has the form of the field in both directions.
		f := h.connect("Asker")
		f.write(`{"mcp_header":{"correlation_id":"k","sender_id":"Asker","target_agent_id":"Worker","target_service":null,"timestamp":"2025-01-30T10:30:00","version":"1.0","message_type":"TASK_ASSIGN"},"payload":{"goal":"x","workflow_id":"w1"}}`)
		m = w.next("TASK_ASSIGN")
		reply("TASK_ACKNOWLEDGE", m, `"status":"accepted"`)
		f.next("TASK_ACKNOWLEDGE")
		w.send("TASK_COMPLETE", "Asker", *m.Header.Correlation, `{"workflow_id":"w1","agent_id":"Worker","status":"COMPLETED","result":{"ok":true}}`)
		if m := f.next("TASK_COMPLETE"); string(m.Payload.Result) != `{"ok":true}` || m.Header.Target != "Asker" || *m.Header.Correlation != "k" {
			t.Errorf("of the field: %+v", m)
		}

		// A second connection takes the id over, and the end of the first does not remove it.
		second := h.connect("Worker")
		second.register("DEGRADED", "web_search")
		_ = w.conn.Close()
		for query, want := range map[string]string{
			`{"query_by_capability":" WEB_search","required_status":"ANY"}`:                       "DEGRADED",
			`{"query_by_capability":"web_search"}`:                                                "",
			`{"query_by_id":"worker","required_status":"any"}`:                                    "DEGRADED",
			`{"query_by_capability_list":["web_search","other"],"required_status":"ANY"}`:         "",
			`{"query_by_agent_id":"Worker","query_by_capability":"none","required_status":"ANY"}`: "",
		} {
			f.send("DISCOVERY_QUERY", "MCP_DISCOVERY", "q", query)
			m := f.next("DISCOVERY_RESPONSE")
			if found := len(m.Payload.Results) == 1 && m.Payload.Results[0].ID == "Worker" && m.Payload.Results[0].Status == want; found != (want != "") || (m.Payload.Status == "success") != found {
				t.Errorf("%s: %+v", query, m.Payload)
			}
		}
	})
}
