package collector

import (
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The tests share two executables of the program. The last one is about all others: with a part of
// them (go test -run) it is left out.
func TestCollector(t *testing.T) {
	p, faulty := build(t), buildFaulty(t)
	ran, all := 0, []struct {
		name string
		test func(*testing.T)
	}{
		{"takes all", p.testAll},
		{"takes what is under way", p.testUnderWay},
		{"takes what goes wrong with peers", p.testPeers},
		{"takes what goes wrong with agents", faulty.testFaulty},
		{"takes an overload", faulty.testOverload},
		{"takes what operators may not do", p.testOperators},
		{"takes a trace of two nodes", p.testNodes},
		{"takes a link that is down", p.testDown},
		{"refuses", p.testRefusing},
		{"stops", p.testStopping},
	}
	for _, of := range all {
		t.Run(of.name, func(t *testing.T) {
			ran++
			of.test(t)
		})
	}
	if ran == len(all) && !t.Failed() {
		t.Run("takes all that is documented", testDocumented)
	}
}

// often has a node export metrics all the time, so that what they say at some time reaches the
// receiver.
const often = "20ms"

// A collector gets all spans and metrics of a node, by their names, with their units, attributes
// and values, and with the headers and the resource that the variables of the node have.
func (p program) testAll(t *testing.T) {
	const pace = 20 * time.Millisecond // of each step of a task
	r := receive(t)
	began := time.Now()
	n := p.start(t, []string{"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20of-the-collector", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test"},
		"--name", "one", "--pace", pace.String(), "--otlp", r.url, "--metrics-interval", often)
	resources := map[string]string{"one": "deployment.environment.name=test service.instance.id=one service.name=ribosome"}
	n.debug("Eddy")
	n.debug("Jules")
	for want, args := range map[string][]string{
		"1 incapable": {"call", "Jules", "dance"}, "1 no agent Nobody": {"call", "Nobody", "dance"}, "0 ": {"send", "Nobody", "INFORM", "-d", `{"dance":"over"}`},
	} {
		if code, out := n.ana(args...); !strings.HasPrefix(want, strconv.Itoa(code)) || !strings.Contains(out, want[2:]) {
			t.Errorf("%v ends with %d: %s", args, code, out)
		}
	}
	r.await(t, "the dead letter", func() bool {
		return len(r.metricsOf(t, "one", resources)["ribosome.messages.dead_lettered"].points) > 0
	})
	here := map[string]uint64{"ribosome.location=here": 4, "ribosome.location=elsewhere": 0} // Eddy, Jules, Eliza, and the node's own
	r.awaitCounts(t, "one", resources, map[string]map[string]uint64{"ribosome.agents": here})
	want := eddysTask("one", "Ana") + `one Server invoke_agent Jules: gen_ai.conversation.id=#5 gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Ana ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=completed
  one Internal task-delegation perform: gen_ai.conversation.id=#5 gen_ai.agent.name=Jules ribosome.job=perform ribosome.peer=Ana ribosome.protocol=task-delegation ribosome.role=responder
one Server invoke_agent Jules: gen_ai.conversation.id=#6 error.type=incapable gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Ana ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=rejected, Error incapable`
	all := map[string]uint64{"": uint64(strings.Count(want, "\n") + 1)}
	r.awaitCounts(t, "one", resources, map[string]map[string]uint64{"ribosome.telemetry.spans.exported": all})
	running := r.metricsOf(t, "one", resources) // the gauges, before the agents stop
	log := n.end()
	elapsed := time.Since(began)
	r.stop()
	if strings.Contains(log, "did not reach") || strings.Contains(log, "the collector takes") {
		t.Errorf("something is lost: %s", log)
	}
	for _, ctx := range append(r.traces.Contexts(), r.metrics.Contexts()...) {
		if got := client.FromContext(ctx).Metadata.Get("Authorization"); !slices.Equal(got, []string{"Bearer of-the-collector"}) {
			t.Errorf("a request has the header Authorization %q", got)
		}
	}

	spans := r.spansOf(t, resources)
	wantTree(t, spans, want)
	for _, s := range spans {
		works := of(s.Attributes(), "ribosome.protocol") == "task-delegation" && of(s.Attributes(), "error.type") == ""
		if s.StartTimestamp().AsTime().Before(began) || s.seconds() > elapsed.Seconds() || works && s.seconds() < pace.Seconds() || s.Flags()&1 == 0 {
			t.Errorf("%s began at %v, took %v s, and has the flags %x", s.Name(), s.StartTimestamp(), s.seconds(), s.Flags())
		}
	}

	metrics := r.metricsOf(t, "one", resources)
	agree(t, spans, metrics)
	wantCounts(t, metrics, "ribosome.messages.refused", map[string]uint64{"ribosome.code=agent_not_found": 1})
	wantCounts(t, metrics, "ribosome.messages.dead_lettered", map[string]uint64{"ribosome.code=agent_not_found": 1})
	wantCounts(t, running, "ribosome.cluster.members", map[string]uint64{"": 1})
	wantCounts(t, running, "ribosome.cluster.links", map[string]uint64{"ribosome.state=up": 0, "ribosome.state=down": 0})
	wantCounts(t, metrics, "ribosome.telemetry.events.lost", map[string]uint64{"": 0})
	wantCounts(t, metrics, "ribosome.telemetry.metrics.failed", map[string]uint64{"": 0})
	for _, name := range []string{"ribosome.agent.mailbox.depth", "ribosome.agent.mailbox.wait"} {
		bands := []string{"high", "low", "normal", "urgent"}
		var want []string
		for _, agent := range []string{"Eddy", "Eliza", "Jules"} {
			for _, band := range bands {
				want = append(want, "gen_ai.agent.name="+agent+" ribosome.band="+band)
			}
		}
		if got := slices.Sorted(maps.Keys(running[name].points)); !slices.Equal(got, want) {
			t.Errorf("%s has values of %q, want %q", name, got, want)
		}
	}
	wantCounts(t, metrics, "ribosome.telemetry.spans.exported", all)
	if data, err := os.ReadFile(script[1:]); err != nil || !strings.Contains(string(data), "Traceback") {
		t.Fatalf("%v: the task is another one", err)
	}
	if strings.Contains(r.json(t), "Traceback") {
		t.Error("the content of a message is in what the receiver got")
	}
}

// eddysTask returns the tree of a task of Eddy, which asks its colleagues what they can do, and has
// Jules perform the task. The lines end with a newline.
func eddysTask(node, peer string) string {
	return strings.NewReplacer("NODE", node, "PEER", peer).Replace(`NODE Server invoke_agent Eddy: gen_ai.conversation.id=#1 gen_ai.agent.name=Eddy gen_ai.operation.name=invoke_agent ribosome.peer=PEER ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=completed
  NODE Internal task-delegation perform: gen_ai.conversation.id=#1 gen_ai.agent.name=Eddy ribosome.job=perform ribosome.peer=PEER ribosome.protocol=task-delegation ribosome.role=responder
    NODE Client invoke_agent Eliza: gen_ai.conversation.id=#2 gen_ai.agent.name=Eliza gen_ai.operation.name=invoke_agent ribosome.peer=Eliza ribosome.protocol=whispering-wind ribosome.role=initiator ribosome.state=answered
      NODE Server invoke_agent Eliza: gen_ai.conversation.id=#2 gen_ai.agent.name=Eliza gen_ai.operation.name=invoke_agent ribosome.peer=Eddy ribosome.protocol=whispering-wind ribosome.role=responder ribosome.state=answered
    NODE Client invoke_agent Jules: gen_ai.conversation.id=#3 gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Jules ribosome.protocol=task-delegation ribosome.role=initiator ribosome.state=completed
      NODE Server invoke_agent Jules: gen_ai.conversation.id=#3 gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Eddy ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=completed
        NODE Internal task-delegation perform: gen_ai.conversation.id=#3 gen_ai.agent.name=Jules ribosome.job=perform ribosome.peer=Eddy ribosome.protocol=task-delegation ribosome.role=responder
    NODE Client invoke_agent Jules: gen_ai.conversation.id=#4 gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Jules ribosome.protocol=whispering-wind ribosome.role=initiator ribosome.state=answered
      NODE Server invoke_agent Jules: gen_ai.conversation.id=#4 gen_ai.agent.name=Jules gen_ai.operation.name=invoke_agent ribosome.peer=Eddy ribosome.protocol=whispering-wind ribosome.role=responder ribosome.state=answered
`)
}

// guest is the rest of the id of a program that asks and has registered no agent.
var guest = regexp.MustCompile(`/client-\d+@\w+`)

// wantTree compares the spans with the text of their tree, in which guests have their names only.
func wantTree(t *testing.T, spans []*span, want string) {
	t.Helper()
	if got := guest.ReplaceAllString(tree(spans), ""); got != want {
		t.Errorf("the spans are\n%s\nwant\n%s", got, want)
	}
}

// wantCounts compares the values of a metric, by their attributes.
func wantCounts(t *testing.T, all map[string]measured, name string, want map[string]uint64) {
	t.Helper()
	covered.value(name, want)
	if got := all[name].counts(); !maps.Equal(got, want) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// agree checks that the counts and durations of conversations and jobs are those of the spans, all
// of which the receiver has.
func agree(t *testing.T, spans []*span, metrics map[string]measured) {
	t.Helper()
	begun, ended, sides, jobs := map[string]uint64{}, map[string]uint64{}, map[string][]float64{}, map[string][]float64{}
	for _, s := range spans {
		kept := pcommon.NewMap()
		s.Attributes().CopyTo(kept)
		kept.RemoveIf(func(name string, _ pcommon.Value) bool {
			return !slices.Contains([]string{"ribosome.protocol", "ribosome.role", "ribosome.state", "ribosome.job", "error.type"}, name)
		})
		labels := text(kept)
		if of(kept, "ribosome.job") != "" {
			jobs[labels] = append(jobs[labels], s.seconds())
			continue
		}
		ended[labels]++
		sides[labels] = append(sides[labels], s.seconds())
		begun[text(kept, "ribosome.state", "error.type")]++
	}
	wantCounts(t, metrics, "ribosome.conversations.begun", begun)
	wantCounts(t, metrics, "ribosome.conversations.ended", ended)
	wantCounts(t, metrics, "ribosome.telemetry.spans.ended", map[string]uint64{"": uint64(len(spans))})
	wantDurations(t, metrics, "ribosome.conversation.duration", sides)
	wantDurations(t, metrics, "ribosome.job.duration", jobs)
}

// bounds are those of the histograms, in seconds.
var bounds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}

// wantDurations compares a histogram with durations in seconds, each of which may differ by
// clockStep.
func wantDurations(t *testing.T, all map[string]measured, name string, want map[string][]float64) {
	t.Helper()
	got, step := all[name].points, clockStep.Seconds()
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, slices.Sorted(maps.Keys(want))) {
		t.Errorf("%s has values of %q, want %v", name, keys, want)
		return
	}
	for labels, durations := range want {
		covered.value(name, map[string]uint64{labels: uint64(len(durations))})
		p, sum := got[labels], 0.0
		for _, d := range durations {
			sum += d
		}
		buckets, n := p.BucketCounts().AsRaw(), uint64(len(durations))
		fits := p.n == n && math.Abs(p.value-sum) <= step*float64(n) && slices.Equal(p.ExplicitBounds().AsRaw(), bounds) && len(buckets) == len(bounds)+1
		below := uint64(0)
		for i := 0; fits && i < len(bounds); i++ {
			below += buckets[i] // a bucket has its upper bound
			fits = upTo(durations, bounds[i]-step) <= below && below <= upTo(durations, bounds[i]+step)
		}
		if !fits || below+buckets[len(bounds)] != n {
			t.Errorf("%s of %s: %d, %v s, %v below %v; want %v", name, labels, p.n, p.value, buckets, p.ExplicitBounds().AsRaw(), durations)
		}
	}
}

// upTo returns how many durations are not above a bound.
func upTo(durations []float64, bound float64) (n uint64) {
	for _, d := range durations {
		if d <= bound {
			n++
		}
	}
	return n
}

// A collector gets what is under way on a node: the sides that have begun and not ended, and the
// jobs that run.
func (p program) testUnderWay(t *testing.T) {
	r := receive(t)
	n := p.start(t, nil, "--pace", "1h", "--otlp", r.url, "--metrics-interval", often)
	resources := map[string]string{"node": "service.instance.id=node service.name=ribosome"}
	call := n.program.command(t.Context(), nil, "call", "Eddy", "debug_code", "-d", script, "-q", "--as", "Ana", "--addr", n.at)
	if err := call.Start(); err != nil {
		t.Fatal(err)
	}
	r.awaitCounts(t, "node", resources, map[string]map[string]uint64{
		"ribosome.jobs.running":       {"": 2},
		"ribosome.agent.jobs.running": {"gen_ai.agent.name=Eddy": 1, "gen_ai.agent.name=Jules": 1, "gen_ai.agent.name=Eliza": 0},
		"ribosome.conversations.open": {"": 3}, // both sides of Eddy's with Jules, and Eddy's of Ana's with Eddy
		"ribosome.sessions":           {"": 1},
		"ribosome.conversations.begun": {
			"ribosome.protocol=task-delegation ribosome.role=responder": 2, "ribosome.protocol=task-delegation ribosome.role=initiator": 1,
			"ribosome.protocol=whispering-wind ribosome.role=responder": 2, "ribosome.protocol=whispering-wind ribosome.role=initiator": 2,
		},
	})
	if err := call.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = call.Wait() // the code is that of an interrupt
	n.end()
	r.stop()
	metrics := r.metricsOf(t, "node", resources)
	agree(t, r.spansOf(t, resources), metrics)
	cancelled := "error.type=canceled ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=cancelled"
	if got := metrics["ribosome.conversations.ended"].counts(); got[cancelled] != 2 {
		t.Errorf("ended are %v, want two of %s", got, cancelled)
	}
}

// A collector that refuses requests delays nobody. What it has not taken is counted, logged once,
// and reported at the end, and the next export of metrics makes up for those that were lost.
func (p program) testRefusing(t *testing.T) {
	r := receive(t)
	r.refuses.Store(true)
	n := p.start(t, []string{"OTEL_BSP_SCHEDULE_DELAY=10"}, "--otlp", r.url, "--metrics-interval", often)
	n.debug("Jules")
	n.shows(&n.stderr, "the collector takes no traces, which are lost until it does", r.url+"/v1/traces")
	n.shows(&n.stderr, "the collector takes no metrics, which are lost until it does", r.url+"/v1/metrics")
	r.refuses.Store(false)
	n.debug("Jules")
	n.shows(&n.stderr, "the collector takes traces again", "\n")
	n.shows(&n.stderr, "the collector takes metrics again", "\n")
	log := n.end()
	r.stop()
	for _, once := range []string{"takes no traces", "takes no metrics", "takes traces again", "takes metrics again"} {
		if strings.Count(log, once) != 1 {
			t.Errorf("%q is %d times in the log: %s", once, strings.Count(log, once), log)
		}
	}
	resources := map[string]string{"node": "service.instance.id=node service.name=ribosome"}
	spans, metrics := len(r.spansOf(t, resources)), r.metricsOf(t, "node", resources)
	if lost, all := lostOf(t, log, "spans", r.url+"/v1/traces"); all != 4 || lost == 0 || spans == 0 || lost+spans != all {
		t.Errorf("%d of %d spans count as lost, and the receiver got %d: %s", lost, all, spans, log)
	}
	lost, _ := lostOf(t, log, "exports of metrics", r.url+"/v1/metrics")
	wantCounts(t, metrics, "ribosome.telemetry.metrics.failed", map[string]uint64{"": uint64(lost)}) //nolint:gosec // a count
	wantCounts(t, metrics, "ribosome.telemetry.spans.ended", map[string]uint64{"": 4})
	completed := map[string]uint64{"ribosome.protocol=task-delegation ribosome.role=responder ribosome.state=completed": 2}
	wantCounts(t, metrics, "ribosome.conversations.ended", completed)
	wantCounts(t, metrics, "ribosome.conversation.duration", completed)
}

// A node goes on when its collector stops, and ends in order without it.
func (p program) testStopping(t *testing.T) {
	r := receive(t)
	n := p.start(t, []string{"OTEL_BSP_SCHEDULE_DELAY=10"}, "--otlp", r.url, "--metrics-interval", often)
	n.debug("Jules")
	r.await(t, "the spans of a call", func() bool { return r.traces.SpanCount() == 2 })
	r.stop()
	n.debug("Jules")
	n.shows(&n.stderr, "the collector takes no traces", r.url+"/v1/traces")
	n.debug("Jules")
	log := n.end()
	if lost, all := lostOf(t, log, "spans", r.url+"/v1/traces"); lost != 4 || all != 6 || r.traces.SpanCount() != 2 {
		t.Errorf("%d of %d spans count as lost, and the receiver got %d: %s", lost, all, r.traces.SpanCount(), log)
	}
	if lost, all := lostOf(t, log, "exports of metrics", r.url+"/v1/metrics"); lost == 0 || lost+len(r.metrics.AllMetrics()) != all {
		t.Errorf("%d of %d exports of metrics count as lost, and the receiver got %d: %s", lost, all, len(r.metrics.AllMetrics()), log)
	}
	if strings.Count(log, "takes no traces") != 1 || strings.Count(log, "takes no metrics") != 1 {
		t.Errorf("the loss is not logged once: %s", log)
	}
}

// lostOf returns how many the node says on stderr that it has lost, and of how many.
func lostOf(t *testing.T, log, what, url string) (lost, all int) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ribosome: (\d+) of (\d+) ` + what + ` did not reach ` + regexp.QuoteMeta(url) + `$`).FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the node says of no %s that they are lost: %s", what, log)
	}
	lost, _ = strconv.Atoi(found[1]) // digits
	all, _ = strconv.Atoi(found[2])
	return lost, all
}
