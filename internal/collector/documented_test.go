package collector

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// instruments has the kind and the unit of each metric.
var instruments = map[string]string{
	"ribosome.node.handlers.queued":     "gauge {job}",
	"ribosome.node.overload.refused":    "counter {request}",
	"ribosome.node.overloaded":          "gauge {node}",
	"ribosome.agents.busy":              "counter {agent}",
	"ribosome.notices.loops":            "counter {chain}",
	"ribosome.operator.refused":         "counter {request}",
	"ribosome.conversations.begun":      "counter {conversation}",
	"ribosome.conversations.ended":      "counter {conversation}",
	"ribosome.conversation.duration":    "histogram s",
	"ribosome.conversations.open":       "gauge {conversation}",
	"ribosome.messages.resent":          "counter {message}",
	"ribosome.messages.refused":         "counter {message}",
	"ribosome.messages.dead_lettered":   "counter {message}",
	"ribosome.job.duration":             "histogram s",
	"ribosome.jobs.running":             "gauge {job}",
	"ribosome.agents":                   "gauge {agent}",
	"ribosome.agent.mailbox.depth":      "gauge {message}",
	"ribosome.agent.mailbox.wait":       "gauge s",
	"ribosome.agent.jobs.running":       "gauge {job}",
	"ribosome.agent.errors":             "counter {error}",
	"ribosome.agent.restarts":           "counter {restart}",
	"ribosome.sessions":                 "gauge {session}",
	"ribosome.cluster.members":          "gauge {node}",
	"ribosome.cluster.links":            "gauge {link}",
	"ribosome.telemetry.events.lost":    "counter {event}",
	"ribosome.telemetry.spans.ended":    "counter {span}",
	"ribosome.telemetry.spans.exported": "counter {span}",
	"ribosome.telemetry.metrics.failed": "counter {export}",
}

// coverage records what the tests check of each metric, by its name.
type coverage struct {
	mu         sync.Mutex
	attributes map[string]map[string]bool // the names of the attributes that its values have
	values     map[string]bool            // those of which a test has compared a value other than 0
}

// covered is the coverage by all tests of this process.
var covered = coverage{attributes: map[string]map[string]bool{}, values: map[string]bool{}}

// attribute records that a value of the metric has an attribute.
func (c *coverage) attribute(metric, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attributes[metric] == nil {
		c.attributes[metric] = map[string]bool{}
	}
	c.attributes[metric][name] = true
}

// value records that a test has compared values of the metric with those that it wants. Only one
// other than 0 shows that the metric counts anything.
func (c *coverage) value(metric string, wanted map[string]uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range wanted {
		c.values[metric] = c.values[metric] || n > 0
	}
}

// documented reads the table of metrics in docs/telemetry.md. It returns the full names of the
// attributes of each metric, sorted.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string][]string{}
	var attributes []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`ribosome\\.[^|]*) \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		if cell := strings.TrimSpace(row[2]); cell != "as above" {
			cell, _, _ = strings.Cut(cell, ":") // the values of the attribute follow
			attributes = nil
			for name := range strings.SplitSeq(cell, ", ") {
				switch unquoted := strings.Trim(name, "`"); {
				case name == "":
				case unquoted != name:
					attributes = append(attributes, unquoted)
				default:
					attributes = append(attributes, "ribosome."+name)
				}
			}
			slices.Sort(attributes)
		}
		for name := range strings.SplitSeq(row[1], ", ") {
			metrics[strings.Trim(name, "`")] = attributes
		}
	}
	return metrics
}

// All metrics of the documentation are checked, and the tests have seen no others: the kind and
// unit of each, a value other than 0, and the attributes. It must run after the tests that cover
// them.
func testDocumented(t *testing.T) {
	metrics := documented(t)
	if has, want := slices.Sorted(maps.Keys(instruments)), slices.Sorted(maps.Keys(metrics)); !slices.Equal(has, want) {
		t.Errorf("the tests check\n%q\nand docs/telemetry.md has\n%q", has, want)
	}
	for name, attributes := range metrics {
		if !covered.values[name] {
			t.Errorf("no test compares a value of %s other than 0", name)
		}
		if got := slices.Sorted(maps.Keys(covered.attributes[name])); !slices.Equal(got, attributes) {
			t.Errorf("the values of %s have the attributes %q, and docs/telemetry.md has %q", name, got, attributes)
		}
	}
}
