package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
)

// Each panel of the dashboard asks for metrics that a node has, by labels that they have, and each
// metric of a node is in some panel.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../docs/grafana/ribosome.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr   string `json:"expr"`
				Legend string `json:"legendFormat"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--http", "127.0.0.1:0", "--otlp", collects(t).URL)
	if r := runs(t, "call", "Jules", "debug_code", "-d", task, "-q", "--addr", n.at["tcp"]); r.code != exitDone {
		t.Fatalf("got %+v", r)
	}
	c, url := browser(t, nil), served(n.running)
	for _, name := range []string{"ribosome_job_duration_seconds", "ribosome_conversations_ended_total"} { // events are counted a little later
		for late := time.Now().Add(patience.Time); measured(t, c, url, name) == 0; {
			if time.Now().After(late) {
				t.Fatalf("%s has no value", name)
			}
		}
	}
	_, scraped := ask(t, c, "GET", url+"/metrics", "")
	n.end()
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(scraped, -1) {
		if m[2] == "histogram" {
			m[1] += "_bucket"
		}
		has[m[1]] = false
	}
	// Counters that nothing has counted have no line. A test of package telemetry has the names of
	// all.
	for _, name := range []string{"messages_resent", "messages_refused", "messages_dead_lettered", "agent_errors", "agent_restarts"} {
		has["ribosome_"+name+"_total"] = false
	}
	labels := []string{"instance", "le", "error_type", "ribosome_code"}
	for _, l := range regexp.MustCompile(`[{,](\w+)="`).FindAllStringSubmatch(scraped, -1) {
		labels = append(labels, l[1])
	}
	name, label := regexp.MustCompile(`\bribosome_\w+`), regexp.MustCompile(`(?:by \(([\w, ]+)\))|(\w+)(?:=~|!=|=)"`)
	if !regexp.MustCompile(`ribosome_conversations_begun_total{.*ribosome_role="responder"} [1-9]`).MatchString(scraped) {
		t.Errorf("the conversation of the program is not counted in\n%s", scraped)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			// What a program asks of an agent has a responder on the node, and no initiator.
			if strings.Contains(target.Expr, "conversations_begun") && strings.Contains(target.Expr, "initiator") {
				t.Errorf("%s: nothing of what programs ask is shown by %s", p.Title, target.Expr)
			}
			var used []string
			for _, l := range label.FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, strings.Split(l[1]+l[2], ", ")...)
			}
			for _, l := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.Legend, -1) {
				used = append(used, l[1])
			}
			for _, l := range used {
				if !slices.Contains(labels, l) {
					t.Errorf("%s: no metric has the label %s", p.Title, l)
				}
			}
			found := false
			for _, m := range name.FindAllString(target.Expr, -1) {
				if _, known := has[m]; known {
					has[m], found = true, true
				} else if !slices.Contains(used, m) {
					t.Errorf("%s: there is no metric %s", p.Title, m)
				}
			}
			if !found {
				t.Errorf("%s: %s has no metric", p.Title, target.Expr)
			}
		}
	}
	for m, used := range has {
		if !used && strings.HasPrefix(m, "ribosome_") {
			t.Errorf("%s is in no panel", m)
		}
	}
}
