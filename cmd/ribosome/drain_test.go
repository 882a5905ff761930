package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// notes is a swarm of placed agents, which only the nodes of the tests can host.
var notes = runtime.Swarm{Name: "notes", Purpose: "Agents that count notes.", Spawn: func(_ context.Context, n *runtime.Node) error {
	return n.RegisterKind("topic", runtime.Kind{New: func(performatives.AgentID) actors.Agent { return &topic{} }})
}}

// topic is the agent of one topic, which counts its notes and moves with their number.
type topic struct{ notes int }

var _ actors.Movable = (*topic)(nil)

func (*topic) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"notes"}}
}

// ConsiderTask counts a note. It runs on the agent's actor, so that notes needs no lock.
func (t *topic) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	t.notes++
	return delegation.Accept()
}

func (t *topic) PerformTask(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
	var notes int
	err := task.Agent.Do(ctx, func(actors.Agent) { notes = t.notes })
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: strconv.Itoa(notes)}, err
}

func (t *topic) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, int64(t.notes), 10), nil }

func (t *topic) Restore(state []byte) (err error) {
	t.notes, err = strconv.Atoi(string(state))
	return err
}

// note adds a note to a topic, and returns how many it has then.
func note(ctx context.Context, on codons.Party, i int) (int, error) {
	result, err := delegation.Delegate(ctx, on, performatives.AgentID(fmt.Sprint("topic/", i)), performatives.TaskRequest{TaskType: "note"},
		codons.WithRetry(codons.Retry{}))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(result.Summary)
}

// hostsOf waits until that many nodes host the topics.
func hostsOf(t *testing.T, asker *runtime.Node, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	changed := asker.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindHostsChanged}})
	defer changed.Close()
	for len(asker.Hosts("topic")) != want {
		if _, err := changed.Next(ctx); err != nil {
			t.Fatalf("the topics have the hosts %v, want %d", asker.Hosts("topic"), want)
		}
	}
}

// Each node of a cluster is restarted in turn, as a process, while notes are taken without a pause:
// the first and the last by ribosome drain, the one between by a signal. Each note is taken once.
// Best effort allows that a request is performed twice when a node dies, when two nodes run an
// agent, as in a partition, or when the agent has taken on more requests since than go along with
// it. Here no node dies, all are connected, and of each agent one request is under way, so that its
// id goes along when the agent moves.
//
// It is a test of the long form: it takes some five seconds.
func TestRollingRestart(t *testing.T) {
	if !long {
		t.Skip("it takes long: " + exhaustive.Variable + "=1 runs it")
	}
	const topics = 8
	asker, err := runtime.New(runtime.Options{Name: "asker", Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Profile: membership.WAN}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := asker.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	begin := func(i int) *nodeProcess {
		return startMember(t, fmt.Sprint("host", i+1), "--join", asker.Members()[0].Gossip, "--swarm", "notes", "--operators", "*", "--profile", "wan", "--drain-time", "1m")
	}
	var nodes [3]*nodeProcess
	for i := range nodes {
		nodes[i] = begin(i)
	}
	hostsOf(t, asker, len(nodes))
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience.Time)
	defer cancel()
	stop := make(chan struct{})
	var taken [topics]int
	var longest [topics]time.Duration
	var asking sync.WaitGroup
	for i := range topics {
		asking.Go(func() {
			for {
				began := time.Now()
				got, err := note(ctx, asker, i)
				switch taken[i]++; {
				case err != nil:
					t.Errorf("note %d of topic %d: %v", taken[i], i, err)
					return
				case got < taken[i]:
					t.Errorf("topic %d has %d notes, want %d: some were lost", i, got, taken[i])
					return
				case got > taken[i]:
					t.Errorf("topic %d has %d notes, want %d: the last one was taken twice, and took %v", i, got, taken[i], time.Since(began))
					return
				}
				longest[i] = max(longest[i], time.Since(began))
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i, n := range nodes {
		began := time.Now()
		if i == 1 {
			n.signal(syscall.SIGTERM)
		} else {
			n.drains()
		}
		if err := n.Wait(); err != nil {
			t.Errorf("host%d ended with %v", i+1, err)
		}
		drained := time.Since(began)
		begin(i)
		hostsOf(t, asker, len(nodes))
		t.Logf("host%d has drained in %v, and hosts again after %v", i+1, drained, time.Since(began))
	}
	close(stop)
	asking.Wait()
	all, most := 0, time.Duration(0)
	for i := range topics {
		all, most = all+taken[i], max(most, longest[i])
	}
	t.Logf("%d notes were taken; the longest took %v", all, most)
}

// signal sends a signal to the process.
func (n *nodeProcess) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// drains has the node drain by ribosome drain.
func (n *nodeProcess) drains() {
	n.t.Helper()
	r := runs(n.t, "drain", n.name, "--json", "--addr", n.tcp)
	var got drained
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got != (drained{Node: n.name}) || r.code != exitDone {
		n.t.Errorf("drain %s: %+v", n.name, r)
	}
}

// The last node that hosts a kind can hand its agents to nobody: ribosome drain says so, and the
// node leaves all the same.
func TestDrainOfTheLastHost(t *testing.T) {
	racetest.Skip(t)
	n := startMember(t, "n1", "--swarm", "notes", "--operators", "*")
	if out, err := program(t, "call", "topic/1", "note", "-q", "--addr", n.tcp).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := runs(t, "drain", "N1", "--addr", n.tcp)
	if r.code != exitFailed || r.stdout != "" || !strings.HasPrefix(r.stderr, "ribosome: n1 has left, but 1 agents were not handed over") {
		t.Errorf("got %+v", r)
	}
	if err := n.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// Who is no operator cannot drain a node, and neither can anyone by the name of another node.
func TestDrainThatIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "ops/ana Vq0m8cQy5m3kz7o2hZ4p1A\ncrm cR8dXw2nT6uJf9aLs3kEyQ *\n")
	n := hosts(t, "--tokens", "tokens", "--operators", "ops,admin")
	for want, args := range map[string][]string{
		"does not permit it: only an operator of the node may drain it; its --operators says who is one": {"node", "--token", "cR8dXw2nT6uJf9aLs3kEyQ", "--as", "ops"},
		"is another one: this node is node, not \"n2\"; give with --addr the address of n2, such as that of LINKS": {
			"n2", "--token", "Vq0m8cQy5m3kz7o2hZ4p1A", "--as", "ops/ana",
		},
		"<node>: it may not be empty":  {""},
		"--deadline: want more than 0": {"node", "--deadline", "0s"},
		"does not accept the token:":   {"node", "--token", "another"},
	} {
		if r := runs(t, append([]string{"drain", "--addr", n.at["tcp"]}, args...)...); r.code == exitDone || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: got %+v, want %q", args, r, want)
		}
	}
	if r := runs(t, "drain", "node", "--token", "Vq0m8cQy5m3kz7o2hZ4p1A", "--as", "ops/ana", "--addr", n.at["grpc"]); r.code != exitDone || r.stdout != "node has handed over its agents, and has left\n" {
		t.Errorf("an operator: got %+v", r)
	}
	if r := n.wait(); r.code != exitDone {
		t.Errorf("the node ended with %+v", r)
	}
	for want, args := range map[string][]string{
		"--drain-time: want more than 0": {"--drain-time", "0s"},
		"--operators has an empty name":  {"--operators", "ops,,x"},
		"unknown flag --operator":        {"--operator", "x"},
	} {
		if r := runs(t, append([]string{"node", "--tcp", "127.0.0.1:0", "--no-auth"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: got %+v", args, r)
		}
	}
}

// Each node of a cluster is drained by way of the operator's interface of any of them, also its
// own, and only once. Its audit trail says by whom.
func TestDrainThroughAnotherNode(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	const token = "Vq0m8cQy5m3kz7o2hZ4p1A"
	t.Setenv(variable("token"), token)
	t.Setenv(variable("as"), "ops/ana")
	writeFile(t, "tokens", "ops/ana "+token+"\n")
	begin := func(name string, args ...string) *nodeProcess {
		args = append([]string{"--tokens", "tokens", "--swarm", "notes", "--http", "127.0.0.1:0", "--profile", "wan", "--audit", name}, args...)
		return startMember(t, name, args...)
	}
	n1 := begin("n1", "--operators", "ops")
	n2 := begin("n2", "--operators", "ops", "--join", n1.gossip)
	n3 := begin("n3", "--join", n1.gossip)
	for _, n := range []*nodeProcess{n1, n3} {
		n.lists("members", "n1 alive", "n2 alive", "n3 alive")
	}
	for want, args := range map[string][]string{
		"only an operator of the node n3 may drain it; its --operators says": {"n3"},
		`there is no node "n9" in the cluster`:                               {"n9"},
		"--oauth-url is for":                                                 {"n2", "--oauth-url", "https://example.org"},
		"--deadline: want more than 0":                                       {"n2", "--deadline", "0s"},
		"does not accept this token":                                         {"n2", "--token", "another"},
		"says more than where":                                               {"n2", "--addr", n1.http + "/api"},
	} {
		if r := runs(t, append([]string{"drain", "--addr", n1.http}, args...)...); r.code == exitDone || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: got %+v, want %q", args, r, want)
		}
	}
	r := runs(t, "drain", "N2", "--addr", n1.http, "--json")
	var got drained
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got != (drained{Node: "n2"}) || r.code != exitDone || r.stderr != "" {
		t.Errorf("got %+v", r)
	}
	if err := n2.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if r := runs(t, "drain", "n2", "--addr", n1.http); r.code != exitFailed || !strings.Contains(r.stderr, `there is no node "n2" in the cluster`) {
		t.Errorf("again: got %+v", r)
	}
	if r := runs(t, "drain", "n1", "--addr", n3.http); r.code != exitDone || r.stdout != "n1 has handed over its agents, and has left\n" {
		t.Errorf("got %+v", r)
	}
	if err := n1.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	trail, err := os.ReadFile("n2")
	for _, want := range []string{
		`"kind":"node.draining",`, `"principal":"ops/ana"`, `"who":"ops/ana","host":"127.0.0.1","what":"drain","of":"n2","result":"handed_over"`,
	} {
		if err != nil || !strings.Contains(string(trail), want) {
			t.Errorf("the audit trail of n2 lacks %s: %v\n%s", want, err, trail)
		}
	}
	if trail, err = os.ReadFile("n1"); err != nil || !strings.Contains(string(trail), `"what":"forward","of":"POST /api/node/drain","result":"n2: 200"`) {
		t.Errorf("the audit trail of n1 lacks what it passed on: %v\n%s", err, trail)
	}
}

// A node is drained by its own operator's interface: the command ends when the node has.
func TestDrainByItsOwnInterface(t *testing.T) {
	n := hosts(t, "--no-auth", "--http", "127.0.0.1:0", "--operators", "*")
	if r := runs(t, "drain", "node", "--addr", served(n.running)); r.code != exitDone || r.stdout != "node has handed over its agents, and has left\n" {
		t.Errorf("got %+v", r)
	}
	if r := n.wait(); r.code != exitDone {
		t.Errorf("the node ended with %+v", r)
	}
}
