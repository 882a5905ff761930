package collector

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The attributes of the sides of a delegation.
const (
	asking     = "ribosome.protocol=task-delegation ribosome.role=initiator"
	performing = "ribosome.protocol=task-delegation ribosome.role=responder"
)

// A collector gets what goes wrong between a node and its peers: conversations that are retried or
// time out because a peer does not answer, requests that come twice, and the error of an agent
// whose colleague does not understand it.
func (p program) testPeers(t *testing.T) {
	r := receive(t)
	n := p.start(t, []string{"OTEL_BSP_SCHEDULE_DELAY=10"}, "--pace", "1h", "--otlp", r.url, "--metrics-interval", often)
	resources := map[string]string{"node": "service.instance.id=node service.name=ribosome"}
	ana, ada := n.connect("Ana"), n.connect("Ada", "Python", "Debugging") // Eddy asks colleagues in the order of their names
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{
		"ribosome.agents":   {"ribosome.location=here": 4, "ribosome.location=elsewhere": 2}, // here are Eddy, Jules, Eliza, and the node's own
		"ribosome.sessions": {"": 2},
	})
	data, err := os.ReadFile(script[1:])
	if err != nil {
		t.Fatal(err)
	}
	parameters := performatives.ContentOf(performatives.Raw(data))
	asks := func(what string, by time.Time) *performatives.Message {
		t.Helper()
		e := ana.envelope("Eddy", performatives.TaskRequest{TaskType: "debug_code", Description: what, Parameters: parameters})
		e.ReplyBy = by
		return ana.sendAs(e)
	}
	asked := func(what string) *performatives.Message { // by Eddy
		t.Helper()
		for {
			m := ada.next(performatives.ActTaskRequest, "Eddy")
			if task, ok := m.Payload().(performatives.TaskRequest); ok && task.Description == what {
				return m
			}
		}
	}

	// Neither Ada nor Jules, whom Eddy asks then, is done when Ana waits no longer.
	asks("in vain", time.Now().Add(time.Second))
	ana.next(performatives.ActFailure, "Eddy")

	// Ana asks twice, and Ada answers the CANCEL when it comes again.
	request := asks("twice", time.Time{})
	asked("twice")
	ana.next(performatives.ActTaskAccept, "Eddy")
	ana.pass(request)
	ana.next(performatives.ActTaskAccept, "Eddy")
	cancel := ana.envelope("Eddy", performatives.Cancel{})
	cancel.ConversationID, cancel.InReplyTo, cancel.Protocol = request.ConversationID(), string(request.ID()), request.Protocol()
	ana.sendAs(cancel)
	ada.next(performatives.ActCancel, "Eddy")
	ada.answer(ada.next(performatives.ActCancel, "Eddy"), performatives.Receipt{})
	ana.next(performatives.ActInform, "Eddy")

	// Ada does not understand Eddy, and says so twice. Ana asks again when Eddy has answered.
	request = asks("unclear", time.Time{})
	unclear := asked("unclear")
	ada.answer(unclear, performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload})
	ana.next(performatives.ActFailure, "Eddy")
	ada.answer(unclear, performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload})
	n.shows(&n.stderr, `"err":"late"`, "\n")
	ana.pass(request)
	ana.next(performatives.ActFailure, "Eddy")

	log := n.end()
	r.stop()
	spans, metrics := r.spansOf(t, resources), r.metricsOf(t, "node", resources)
	agree(t, spans, metrics)
	wantCounts(t, metrics, "ribosome.messages.resent", map[string]uint64{asking: ada.repeated, performing: ana.repeated})
	if ada.repeated == 0 || ana.repeated != 2 {
		t.Errorf("Ada got %d messages again, and Ana %d", ada.repeated, ana.repeated)
	}
	errs, letters := logged(t, log)
	wantCounts(t, metrics, "ribosome.agent.errors", errs)
	wantCounts(t, metrics, "ribosome.messages.dead_lettered", letters)
	if errs["gen_ai.agent.name=Eddy"] == 0 || letters["ribosome.code=late"] == 0 {
		t.Errorf("there is no error of Eddy, or no late message: %s", log)
	}
	for labels, least := range map[string]uint64{
		asking + " ribosome.state=timed_out": 1, asking + " ribosome.state=not_understood": 1, asking + " ribosome.state=cancelled": 1,
		performing + " ribosome.state=failed": 1, performing + " ribosome.state=cancelled": 1,
	} {
		if n := ended(metrics, labels); n < least {
			t.Errorf("%d sides count as ended with %s: %v", n, labels, metrics["ribosome.conversations.ended"].counts())
		}
	}
}

// ended returns how many sides have ended with some attributes, whatever their errors are.
func ended(all map[string]measured, labels string) (n uint64) {
	for key, of := range all["ribosome.conversations.ended"].counts() {
		if strings.HasSuffix(key, labels) { // error.type is the first attribute
			n += of
		}
	}
	return n
}

// logged returns how many errors and panics of jobs, and how many dead letters a node has logged,
// by the attributes that their metrics have.
func logged(t *testing.T, log string) (errs, letters map[string]uint64) {
	t.Helper()
	errs, letters = map[string]uint64{}, map[string]uint64{}
	for line := range strings.Lines(log) {
		var record struct{ Msg, Agent, Err string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch record.Msg {
		case "handler failed", "handler panicked":
			errs["gen_ai.agent.name="+record.Agent]++
		case "dead letter":
			letters["ribosome.code="+record.Err]++
		}
	}
	return errs, letters
}

// loudness is how many events the agent Loud of testdata/faulty.go publishes at each message.
const loudness = 100_000

// A collector gets what goes wrong with agents: errors and panics of their jobs, restarts, messages
// that wait for an agent, and events that found the queue of the metrics full.
func (p program) testFaulty(t *testing.T) {
	r := receive(t)
	n := p.host(t, "faulty", nil, "--otlp", r.url, "--metrics-interval", often)
	resources := map[string]string{"node": "service.instance.id=node service.name=ribosome"}
	ana := n.connect("Ana")
	tell := func(to performatives.AgentID, priority performatives.Priority) {
		t.Helper()
		notice := ana.envelope(to, performatives.Raw(`{}`))
		notice.Performative, notice.Priority = performatives.ActInform, priority
		notice.Timestamp = notice.Timestamp.Add(-time.Hour) // Ana's clock is wrong, which no metric shows
		ana.sendAs(notice)
	}

	// The jobs of Clumsy fail.
	for _, kind := range []string{"fail", "panic", "fail"} {
		ana.send("Clumsy", performatives.TaskRequest{TaskType: kind})
		ana.next(performatives.ActFailure, "Clumsy")
	}

	// Fragile is restarted.
	tell("Fragile", performatives.Normal)
	tell("Fragile", performatives.Normal)

	// Messages wait for Stuck.
	tell("Stuck", performatives.Normal)
	n.shows(&n.stderr, "a message is being handled", "\n")
	began := time.Now()
	for i, priority := range []performatives.Priority{performatives.Low, performatives.Normal, performatives.Urgent} {
		for range i + 1 {
			tell("Stuck", priority)
		}
	}
	waiting := map[string]uint64{}
	for _, agent := range []string{"Clumsy", "Dizzy", "Fragile", "Key", "Loud", "Stuck"} {
		for _, band := range []string{"high", "low", "normal", "urgent"} {
			waiting["gen_ai.agent.name="+agent+" ribosome.band="+band] = 0
		}
	}
	empty := maps.Clone(waiting)
	for i, band := range []string{"low", "normal", "urgent"} {
		waiting["gen_ai.agent.name=Stuck ribosome.band="+band] = uint64(i + 1)
	}
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{"ribosome.agent.mailbox.depth": waiting})
	var wait measured
	r.await(t, "the waits of Stuck", func() bool {
		wait = r.metricsOf(t, "node", resources)["ribosome.agent.mailbox.wait"]
		for _, band := range []string{"low", "normal", "urgent"} {
			if wait.points["gen_ai.agent.name=Stuck ribosome.band="+band].value == 0 {
				return false
			}
		}
		return true
	})
	if got, want := slices.Sorted(maps.Keys(wait.points)), slices.Sorted(maps.Keys(waiting)); !slices.Equal(got, want) {
		t.Errorf("ribosome.agent.mailbox.wait has values of %q, want %q", got, want)
	}
	for labels, point := range wait.points {
		most := 0.0
		if waiting[labels] > 0 {
			most = time.Since(began).Seconds()
		}
		if point.value > most {
			t.Errorf("ribosome.agent.mailbox.wait of %s is %v s, want at most %v", labels, point.value, most)
		}
	}
	covered.value("ribosome.agent.mailbox.wait", waiting)
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{"ribosome.agents.busy": {"": 1}})
	tell("Key", performatives.Normal)
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{
		"ribosome.agent.mailbox.depth": empty, "ribosome.agent.mailbox.wait": empty,
		"ribosome.agent.restarts": {"gen_ai.agent.name=Fragile": 2},
		"ribosome.agent.errors":   {"gen_ai.agent.name=Clumsy": 3},
	})

	// Loud publishes more than the queue has room for.
	published, lost := uint64(0), uint64(0)
	for lost == 0 {
		tell("Loud", performatives.Normal)
		published += loudness
		r.await(t, "the events of Loud", func() bool {
			metrics := r.metricsOf(t, "node", resources)
			lost = metrics["ribosome.telemetry.events.lost"].points[""].n
			return lost+metrics["ribosome.agent.errors"].points["gen_ai.agent.name=Loud"].n == published
		})
	}
	n.end()
	r.stop()
	metrics := r.metricsOf(t, "node", resources)
	agree(t, r.spansOf(t, resources), metrics)
	wantCounts(t, metrics, "ribosome.telemetry.events.lost", map[string]uint64{"": lost})
	wantCounts(t, metrics, "ribosome.agent.errors", map[string]uint64{"gen_ai.agent.name=Clumsy": 3, "gen_ai.agent.name=Loud": published - lost})
	wantCounts(t, metrics, "ribosome.agent.restarts", map[string]uint64{"gen_ai.agent.name=Fragile": 2})
	wantCounts(t, metrics, "ribosome.messages.dead_lettered", map[string]uint64{"ribosome.code=internal_error": 2})
	wantCounts(t, metrics, "ribosome.messages.refused", map[string]uint64{})
	wantCounts(t, metrics, "ribosome.messages.resent", map[string]uint64{})
	if strings.Contains(r.json(t), "c4n4ry") {
		t.Error("the text of an error or a panic is in what the receiver got")
	}
}

// A collector gets a loop of notices, the requests that a node refuses because its processors could
// not do them in time, and the jobs that wait for a processor.
func (p program) testOverload(t *testing.T) {
	r := receive(t)
	n := p.host(t, "faulty", nil, "--otlp", r.url, "--metrics-interval", often)
	resources := map[string]string{"node": "service.instance.id=node service.name=ribosome"}
	ana := n.connect("Ana")
	notice := ana.envelope("Dizzy", performatives.Raw(`{}`))
	notice.Performative = performatives.ActInform
	ana.sendAs(notice)
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{"ribosome.notices.loops": {"": 1}})
	seen := map[string]uint64{"ribosome.node.overload.refused": 0, "ribosome.node.overloaded": 0, "ribosome.node.handlers.queued": 0}
	r.await(t, "an overload", func() bool {
		for range 100 {
			task := ana.envelope("Clumsy", performatives.TaskRequest{TaskType: "compute"})
			task.ReplyBy = time.Now().Add(time.Second)
			ana.sendAs(task)
		}
		for len(ana.received) > 0 {
			<-ana.received
		}
		all := true
		for name, before := range seen {
			seen[name] = max(before, r.metricsOf(t, "node", resources)[name].points[""].n)
			all = all && seen[name] > 0
		}
		return all
	})
	for name, most := range seen {
		covered.value(name, map[string]uint64{"": most})
	}
	if seen["ribosome.node.overloaded"] != 1 {
		t.Errorf("ribosome.node.overloaded is %d", seen["ribosome.node.overloaded"])
	}
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{"ribosome.node.overloaded": {"": 0}, "ribosome.node.handlers.queued": {"": 0}})
	n.end()
	r.stop()
}

// A collector gets the requests of operators that a node refuses.
func (p program) testOperators(t *testing.T) {
	r := receive(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("Ana 0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := p.start(t, nil, "--no-auth=false", "--tokens", tokens, "--http", "127.0.0.1:0", "--otlp", r.url, "--metrics-interval", often)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.line(&n.stdout, "serving ")+"/api/node", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer fedcba9876543210fedcba9876543210")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s: %v", answer.Status, err)
	}
	r.awaitCounts(t, "node", map[string]string{"node": "service.instance.id=node service.name=ribosome"}, map[string]map[string]uint64{
		"ribosome.operator.refused": {"error.type=unauthorized": 1},
	})
	n.end()
	r.stop()
}
