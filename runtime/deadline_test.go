package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// lateness is the bound of addenda §9: how late an asker may be told that its deadline has passed.
const lateness = 250 * time.Millisecond

// deadlineIn adds a deadline to a request of a speaker, in the form of its dialect. The rag dialect
// has none.
var deadlineIn = map[string]func(request string, in time.Duration) string{
	"acl": func(request string, in time.Duration) string {
		return strings.Replace(request, `"payload":`, fmt.Sprintf(`"reply_by":%q,"payload":`, time.Now().Add(in).Format(time.RFC3339Nano)), 1)
	},
	"bridge": func(request string, in time.Duration) string {
		return strings.Replace(request, `"timeout":60`, fmt.Sprintf(`"timeout":%v`, in.Seconds()), 1)
	},
	"gateway": func(request string, in time.Duration) string {
		return strings.Replace(request, `"mcp_payload":`, fmt.Sprintf(`"metadata":{"timeout_ms":%d},"mcp_payload":`, in.Milliseconds()), 1)
	},
	"rossnet": func(request string, in time.Duration) string {
		return strings.Replace(request, `"input_data":`, fmt.Sprintf(`"deadline":%q,"input_data":`, time.Now().Add(in).Format(time.RFC3339Nano)), 1)
	},
}

// pipesTo returns how to connect to a node in memory, in all dialects.
func pipesTo(t *testing.T, n *runtime.Node, o runtime.PeerOptions) func(context.Context) (wire.Conn, error) {
	t.Helper()
	h := newHubOf(t, n, o, func(o *wire.Options) { o.Dialects = allDialects(t) })
	return func(context.Context) (wire.Conn, error) {
		near, far := wiretest.Pipe()
		go func() { _ = h.server.Serve(far, nil) }()
		return near, nil
	}
}

// stubborn is an agent whose task goes on for an hour, whatever its context says.
func stubborn() actors.Agent {
	return working(func(context.Context) error { time.Sleep(time.Hour); return nil })
}

// eachDeadline runs a test with programs of all dialects at one node, and workers that do not
// answer: programs of all dialects and agents in Go, of that node and of another one beyond an
// uplink.
func eachDeadline(t *testing.T, test func(t *testing.T, n *runtime.Node, askers, workers map[string]*foreigner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near := newNode(t, runtime.Options{Name: "near"})
		far := newNode(t, runtime.Options{Name: "far"})
		options := runtime.PeerOptions{Grace: 20 * time.Second}
		dialNear, dialFar := pipesTo(t, near, options), pipesTo(t, far, options)
		uplinkHub := newHubOf(t, near, options)
		up := newOutpostOf(t, far, uplinkHub)
		spawn(t, near, "Silent", always(scripted{topics: []string{"x"}}))
		spawn(t, near, "Stubborn", stubborn)
		spawn(t, far, "far-Silent", always(scripted{topics: []string{"x"}}))
		spawn(t, far, "far-Stubborn", stubborn)
		askers, workers := map[string]*foreigner{}, map[string]*foreigner{"Silent": nil, "Stubborn": nil, "far-Silent": nil, "far-Stubborn": nil}
		for name, f := range interopSpeakers {
			askers[name] = connectForeign(t, name+"-asker", f, dialNear)
			workers[name+"-worker"] = connectForeign(t, name+"-worker", f, dialNear)
			workers["far-"+name+"-worker"] = connectForeign(t, "far-"+name+"-worker", f, dialFar)
		}
		if err := up.up.Connect(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(t, near, askers, workers)
		time.Sleep(2 * time.Hour) // the stubborn ones return, and nothing comes again
	})
}

// A program's request has a deadline, in the form of its dialect. It is told at the deadline that
// it has passed, whoever works for it, and a program that works gets CANCEL.
func TestProgramsAreToldAtTheirDeadlines(t *testing.T) {
	eachDeadline(t, func(t *testing.T, n *runtime.Node, askers, workers map[string]*foreigner) {
		number := 0.0
		for dialect, limit := range deadlineIn {
			asker := askers[dialect]
			for to, worker := range workers {
				number++
				id, task := fmt.Sprintf("call%v", number), "wait"
				began := time.Now()
				asker.write(limit(asker.ask(asker.name, id, to, task, number), 2*time.Second))
				if worker != nil {
					expect(t, to+" begins", worker.began, number)
				}
				h := asker.hear(heardNo)
				if waited := time.Since(began); waited < 2*time.Second || waited > 2*time.Second+lateness || h.id != id {
					t.Errorf("%s asks %s: told after %v: %s", dialect, to, waited, h.text)
				}
				if worker != nil {
					expect(t, to+" stops", worker.stops, number)
				}
				synctest.Wait()
				time.Sleep(time.Minute)
				if len(asker.answers) > 0 {
					t.Errorf("%s asks %s: then it is told %s", dialect, to, (<-asker.answers).text)
				}
			}
		}
	})
}

// An agent in Go is told at its deadline, too, and the program that works for it gets CANCEL.
func TestGoAskersAreToldAtTheirDeadlines(t *testing.T) {
	eachDeadline(t, func(t *testing.T, n *runtime.Node, _, workers map[string]*foreigner) {
		number := 0.0
		for to, worker := range workers {
			for how, ask := range map[string]func(context.Context, p.TaskRequest) error{
				"delegates": func(ctx context.Context, r p.TaskRequest) error {
					_, err := delegation.Delegate(ctx, n, p.AgentID(to), r)
					return err
				},
				"asks": func(ctx context.Context, r p.TaskRequest) error {
					_, err := n.Ask(ctx, p.AgentID(to), r)
					return err
				},
			} {
				if how == "asks" && strings.HasSuffix(to, "Stubborn") {
					continue // it accepts the task, which is the first reply
				}
				number++
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				err := ask(ctx, p.TaskRequest{TaskType: "wait", Parameters: p.ContentOf(map[string]float64{"n": number})})
				cancel()
				if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || waited > 2*time.Second+lateness {
					t.Errorf("%s %s: told after %v: %v", how, to, waited, err)
				}
				if worker != nil {
					expect(t, to+" begins", worker.began, number)
					expect(t, to+" stops", worker.stops, number)
				}
			}
		}
	})
}

// The grace after the deadline of an asker of another node is the worker's: what works for it is
// done with at its end, of whatever length that of the link is.
func TestGraceIsTheWorkersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := newNode(t, runtime.Options{Name: "near"}), newNode(t, runtime.Options{Name: "far"})
		up := newOutpostOf(t, far, newHubOf(t, near, runtime.PeerOptions{Grace: time.Second}))
		spawn(t, far, "Mute", always(scripted{topics: []string{"x"}}))
		silent := newCaller(t, newHubOf(t, far, runtime.PeerOptions{Grace: 20 * time.Second}), nil)
		silent.say(message(t, "Silent", "system", p.ActQueryCapabilities, offers("x")))
		silent.answer(1)
		if err := up.up.Connect(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for worker, grace := range map[p.AgentID]time.Duration{"Silent": 20 * time.Second, "Mute": 2 * codons.DefaultGrace} {
			sent := listen(t, far, events.KindMessageSent)
			due := time.Now().Add(2 * time.Second)
			ctx, cancel := context.WithDeadline(t.Context(), due)
			_, err := near.Ask(ctx, worker, p.TaskRequest{TaskType: "wait"})
			cancel()
			if late := time.Since(due); !errors.Is(err, context.DeadlineExceeded) || late > lateness {
				t.Errorf("%s: the asker is told after %v: %v", worker, late, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			ends := await(t, sent, 1, func(e events.MessageSent) bool { return e.Message.Performative() == p.ActFailure })
			if after := ends[0].Time.Sub(due); len(ends) != 1 || after < grace || after > grace+lateness {
				t.Errorf("%s: %d ends, the first %v after the deadline, want %v", worker, len(ends), after, grace)
			}
		}
	})
}

// timeoutIn is the code of a passed deadline in a dialect that has deadlines.
var timeoutIn = map[string]string{"acl": `"timeout"`, "bridge": `"TIMEOUT"`, "gateway": `"SERVICE_UNAVAILABLE"`, "rossnet": `"E006"`}

// A program's request to a silent program of another node of a cluster: it is told that its
// deadline has passed while the worker's grace goes on, in the words of its dialect, and the worker
// gets CANCEL.
func TestDeadlineInACluster(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := newCluster(t, 2)
	near := newHubOf(t, nodes[0], noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(t) })
	addr := serve(t, overTCP, near.server)
	dial := func(ctx context.Context) (wire.Conn, error) { return overTCP.dial(ctx, addr) }
	worker := newCaller(t, newHubOf(t, nodes[1], runtime.PeerOptions{Grace: 2 * patience.Time}), nil)
	worker.say(message(t, "Silent", "system", p.ActQueryCapabilities, offers("wait")))
	worker.answer(1)
	isAt(t, nodes[0], "Silent", "n2")
	heard := 1
	for dialect, limit := range deadlineIn {
		asker := connectForeign(t, dialect+"-asker", interopSpeakers[dialect], dial)
		asker.write(limit(asker.ask(asker.name, "call1:"+dialect, "Silent", "wait", 1), time.Second))
		if h := asker.hear(heardNo); h.id != "call1:"+dialect || !strings.Contains(h.text, timeoutIn[dialect]) {
			t.Errorf("%s: told %s", dialect, h.text)
		}
		for _, act := range []p.Performative{p.ActTaskRequest, p.ActCancel} {
			if heard++; worker.answer(heard).Performative() != act {
				t.Errorf("%s: the worker gets %s, want %s", dialect, worker.answer(heard).Performative(), act)
			}
		}
	}
}

// A program whose worker's node is lost is told the node's name, as its work ends and when it asks
// again.
func TestProgramsAreToldWhichNodeIsLost(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	nodes := join(t, 2, newMortalMember)
	near := newHubOf(t, nodes[0], noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(t) })
	addr := serve(t, overTCP, near.server)
	dial := func(ctx context.Context) (wire.Conn, error) { return overTCP.dial(ctx, addr) }
	began := make(chan struct{}, len(interopSpeakers))
	askers := make(map[string]*foreigner)
	for dialect, f := range interopSpeakers {
		spawn(t, nodes[1], p.AgentID("Rev-"+dialect), func() actors.Agent { return colleague{delay: make(chan struct{}), began: began} })
		knowsTopic(t, nodes[0], p.AgentID("Rev-"+dialect))
		a := connectForeign(t, dialect+"-asker", f, dial)
		a.write(a.ask(a.name, "call1:"+dialect, "Rev-"+dialect, "wait", 1))
		<-began
		askers[dialect] = a
	}
	crash(t, nodes[1])
	for dialect, a := range askers {
		for n := 1; n <= 2; n++ {
			if n > 1 {
				a.write(a.ask(a.name, fmt.Sprintf("call%d:%s", n, dialect), "Rev-"+dialect, "wait", 1))
			}
			if h := a.hear(heardNo); h.id != fmt.Sprintf("call%d:%s", n, dialect) || !strings.Contains(h.text, "the node n2 of the agent cannot be reached") {
				t.Errorf("%s, request %d: told %s", dialect, n, h.text)
			}
		}
	}
}
