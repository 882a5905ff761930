package swarm_test

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// listen lets external agents connect to the node of the fixture. It returns the address.
func (s *fixture) listen() string {
	s.Helper()
	peers, err := runtime.NewPeers(s.node, runtime.PeerOptions{})
	if err != nil {
		s.Fatal(err)
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: true})
	if err != nil {
		s.Fatal(err)
	}
	l, err := tcp.Listen(server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := l.Stop(s.ctx); err != nil {
			s.Error(err)
		}
		if err := server.Stop(s.ctx); err != nil {
			s.Error(err)
		}
	})
	return l.Addr().String()
}

// socket is a connection of an editor that writes and reads acl JSON in frames of 7 bytes (wire,
// addenda §5).
type socket struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, addr string) socket {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience.Time)); err != nil {
		t.Fatal(err)
	}
	return socket{t, c}
}

func (s socket) send(message string) {
	s.t.Helper()
	frame := binary.BigEndian.AppendUint32([]byte{0x4D, 0x43, 0x01}, uint32(len(message))) //nolint:gosec // it is short
	if _, err := s.Write(append(frame, message...)); err != nil {
		s.t.Fatal(err)
	}
}

// object is a JSON object.
type object = map[string]any

// receive reads one message.
func (s socket) receive() object {
	s.t.Helper()
	for {
		header := make([]byte, 7)
		if _, err := io.ReadFull(s, header); err != nil {
			s.t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(header[3:]))
		if _, err := io.ReadFull(s, body); err != nil {
			s.t.Fatal(err)
		}
		if header[2] != 0x01 {
			continue // such as PING
		}
		var m object
		if err := json.Unmarshal(body, &m); err != nil {
			s.t.Fatalf("%v: %s", err, body)
		}
		return m
	}
}

// expect reads one message and compares the members of want.
func (s socket) expect(want object) object {
	s.t.Helper()
	m := s.receive()
	for name, value := range want {
		if diff := cmp.Diff(value, m[name]); diff != "" {
			s.t.Errorf("%s of %v: %s (-want +got):\n%s", name, m["performative"], m["payload"], diff)
		}
	}
	return m
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const selected = `def report(rows):
    total = 0
    for r in rows:
        if r:
            total += len(str(r))
        print(r, total)
    for x in range(len(rows)):
        if rows[x] != 0:
            print(x)
            print(rows[x])
    print(total)


report([1, 0, None, "b"])
`

// TestEditor plays the editor of acl §6, message for message.
func TestEditor(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	editor := dial(t, s.listen())
	editor.send(`{"mcp_version":"0.1.0","message_id":"8a5b7c1e-6f0d-4b7e-9a37-2f1f6f4a9d01","performative":"TASK_REQUEST",
		"sender":{"agent_id":"vscode-plugin"},"receiver":{"agent_id":"Jules"},"reply_with":"refactor-1","language":"application/json",
		"ontology":"elizaos:ontology:code/general/refactor_request","timestamp":"2025-01-30T10:30:00Z",
		"payload":{"task_type":"refactor_code_snippet","task_description":"Request for refactoring suggestions for the selected code.",
			"task_parameters":{"code_snippet":` + quoted(t, selected) + `,"programming_language":"python",
				"desired_outcome":"improve readability and performance"}}}`)
	jules, plugin := object{"agent_id": "Jules"}, object{"agent_id": "vscode-plugin"}
	editor.expect(object{
		"performative": "TASK_ACCEPT", "in_reply_to": "8a5b7c1e-6f0d-4b7e-9a37-2f1f6f4a9d01", "sender": jules, "receiver": plugin,
		"ontology": "elizaos:ontology:general/task_acceptance",
		"payload":  object{"status": "accepted", "task_id_assigned": "jules-1", "estimated_completion_time": 1.0, "comments": "Starting now."},
	})
	result := editor.expect(object{
		"performative": "INFORM_RESULT", "in_reply_to": "refactor-1", "language": "application/json", "sender": jules, "receiver": plugin,
		"ontology": "elizaos:ontology:code/general/refactor_suggestion",
	})
	payload := result["payload"].(object)
	details := payload["result_details"].(object)
	if payload["task_status"] != "success" || payload["result_summary"] != "Refactoring suggestions provided." || details["original_snippet"] != selected {
		t.Errorf("got %v", payload)
	}
	var kinds []string
	for _, one := range details["suggestions"].([]any) {
		one := one.(object)
		kinds = append(kinds, one["change_type"].(string)+" "+one["description"].(string))
		patched(t, selected, one["suggested_code_diff"].(string))
		if c := one["confidence"].(float64); c <= 0 || c > 1 {
			t.Errorf("got the confidence %v", c)
		}
	}
	if want := []string{
		"rename_variable Rename variable 'r' to 'row' for clarity.",
		"extract_method Extract the block into a new method 'calculate_total'.",
		"rename_variable Rename variable 'x' to 'index' for clarity.",
		"introduce_guard_clause Introduce a guard clause: continue early under the opposite condition, so that the rest is nested less.",
	}; !slices.Equal(kinds, want) {
		t.Errorf("got %q", kinds)
	}
}

// patched applies a diff with patch and runs both programs with python3, where these exist.
func patched(t *testing.T, code, diff string) {
	t.Helper()
	dir := t.TempDir()
	before, after := filepath.Join(dir, "before.py"), filepath.Join(dir, "snippet.py")
	for _, path := range []string{before, after} {
		if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch here")
	}
	cmd := exec.CommandContext(t.Context(), "patch", "-p1", "--fuzz=0")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, diff)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	var outputs []string
	for _, path := range []string{before, after} {
		out, err := exec.CommandContext(t.Context(), "python3", path).Output()
		if err != nil {
			t.Errorf("%v of\n%s", err, diff)
		}
		outputs = append(outputs, string(out))
	}
	if outputs[0] != outputs[1] || outputs[0] == "" {
		t.Errorf("the output %q became %q by\n%s", outputs[0], outputs[1], diff)
	}
}

// TestEditorVariant plays an IDE client of addenda §3, whose payload is the parameters.
func TestEditorVariant(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	editor := dial(t, s.listen())
	editor.send(`{"conversation_id":"conv-1","performative":"REQUEST","ontology":"elizaos:ide:explain_code",
		"payload":{"code_snippet":` + quoted(t, selected) + `,"language":"python","user_query":"what?"},
		"sender":"vscode-user","receiver":"jules","timestamp":"2025-01-30T10:30:00Z"}`)
	editor.expect(object{"performative": "ACCEPT", "conversation_id": "conv-1", "sender": "jules", "receiver": "vscode-user"})
	result := editor.expect(object{"performative": "INFORM_RESULT", "conversation_id": "conv-1", "ontology": "elizaos:ide:explain_code"})
	payload := result["payload"].(object)
	details := payload["result_details"].(object)
	const text = "Function report (line 1) takes rows; it has 2 loops: for r in rows, for x in range(len(rows)); " +
		"decides by 2 conditions; calls len, str, print and range.\nOutside of functions, the code calls report."
	if payload["task_status"] != "success" || payload["result_summary"] != "The code has 1 function and 0 classes." || details["explanation"] != text {
		t.Errorf("got %v", payload)
	}
}

// request returns an acl message to Jules.
func request(id, act, ontology, payload string) string {
	return `{"mcp_version":"0.1.0","message_id":"` + id + `","performative":"` + act + `","sender":{"agent_id":"editor"},"receiver":{"agent_id":"Jules"},
		"language":"application/json","ontology":"` + ontology + `","timestamp":"2025-01-30T10:30:00Z","payload":` + payload + `}`
}

func TestEditorAsks(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	editor := dial(t, s.listen())
	editor.send(request("q-1", "QUERY_IF", "elizaos:general_query", `{"condition":{"has_capacity":true,"skill":"python"}}`))
	editor.expect(object{"performative": "INFORM_IF", "in_reply_to": "q-1", "ontology": "elizaos:general_query", "payload": object{
		"condition": object{"has_capacity": true, "skill": "python"}, "truth": true,
	}})
	editor.send(request("q-2", "QUERY_REF", "", `{"reference":"capacity"}`))
	editor.expect(object{"performative": "INFORM_REF", "in_reply_to": "q-2", "payload": object{
		"reference": "capacity", "value": object{"max_tasks": 2048.0, "under_way": 0.0, "free": 2048.0},
	}})
	editor.send(request("q-3", "QUERY_CAPABILITIES", "elizaos:ontology:agent/capability_query", `{"query_type":"summary"}`))
	answer := editor.expect(object{"performative": "INFORM_CAPABILITIES", "in_reply_to": "q-3"})
	known := answer["payload"].(object)["capabilities"].(object)["ontologies"].([]any)
	if !slices.Contains(known, any(performatives.OntologyRefactorRequest)) {
		t.Errorf("Jules knows %v", known)
	}
}

func TestEditorOfAnotherOntology(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	addr := s.listen()
	editor := dial(t, addr)
	editor.send(request("t-1", "TASK_REQUEST", "elizaos:ontology:code/rust/refactor_request", `{"task_type":"refactor_code_snippet","task_parameters":{"code_snippet":"x = 1"}}`))
	no := editor.expect(object{"performative": "NOT_UNDERSTOOD", "in_reply_to": "t-1", "ontology": "elizaos:ontology:general/message_not_understood"})
	if got := no["payload"].(object); got["reason_code"] != "unknown_ontology" || !strings.Contains(got["reason_text"].(string), "code/rust/refactor_request") {
		t.Errorf("got %v", got)
	}
	// The result of a request without an ontology has the one that belongs to Jules's task.
	editor.send(request("t-2", "TASK_REQUEST", "", `{"task_type":"refactor_code_snippet","task_parameters":{"code_snippet":"x = 1"}}`))
	editor.expect(object{"performative": "TASK_ACCEPT"})
	editor.expect(object{"performative": "INFORM_RESULT", "ontology": "elizaos:ontology:code/general/refactor_suggestion"})

	// The node also speaks for an external agent that declares ontologies.
	agent := dial(t, addr)
	agent.send(`{"message_id":"i-1","performative":"QUERY_CAPABILITIES","sender":{"agent_id":"Poet"},"receiver":{"agent_id":"system"},
		"timestamp":"2025-01-30T10:30:00Z","payload":{"query_type":"summary","capabilities":{"topics":["verse"],"ontologies":["ex:verse"]}}}`)
	agent.expect(object{"performative": "INFORM_CAPABILITIES"})
	editor.send(strings.Replace(request("t-3", "TASK_REQUEST", "ex:prose", `{"task_type":"write"}`), "Jules", "Poet", 1))
	no = editor.expect(object{"performative": "NOT_UNDERSTOOD", "in_reply_to": "t-3"})
	if got := no["payload"].(object); got["reason_code"] != "unknown_ontology" {
		t.Errorf("got %v", got)
	}
}
