package gateway

import (
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

func TestRecognizes(t *testing.T) {
	d := newDialect(t, Options{})
	for frame, want := range map[string]bool{
		`{"mcp_payload":{}}`: true,
		` { "id" : "\"}" , "x":[{"y":"]"}], "mcp_payload" : 1`: true, // it need not be whole
		`[{"id":1,"mcp_payload":{}}]`:                          true,
		`{"source":"s","error":{}}`:                            true,
		`{"error":{},"source":"s"}`:                            true,
		`{"error":{}}`:                                         false,
		`{"x":{"mcp_payload":1}}`:                              false,
		`{"x":"mcp_payload"}`:                                  false,
		`{"performative":"REQUEST"}`:                           false,
		`[[{"mcp_payload":1}]]`:                                false,
		`"mcp_payload"`:                                        false,
		``:                                                     false,
		`[`:                                                    false,
		`{`:                                                    false,
		`{"`:                                                   false,
		`{"mcp_payload"`:                                       false,
		`{"a":`:                                                false,
		`{"a":"\`:                                              false,
		`}{`:                                                   false,
		"MC\x01\x00":                                           false,
		`{"a":` + strings.Repeat("]", 9) + `,"mcp_payload":1}`: false,
	} {
		if got := d.Recognizes([]byte(frame)); got != want {
			t.Errorf("%s: %t", frame, got)
		}
	}
}

func TestNamespace(t *testing.T) {
	for _, c := range []struct{ target, method, want string }{
		{"", "initialize", "system"},
		{"", "tools/list", "system"},
		{"", "tools/call", "system"},
		{"tools", "tools/list", "tools"},
		{"", "calc.add", "calc"},
		{"", "calc.add.all", "calc"},
		{"maths", "calc.add", "maths"},
		{"", "ping", "default"},
		{"", "resources/list", "default"},
		{"", "notifications/x.y", "default"},
		{"", "rpc.discover", "default"},
		{"", ".add", "default"},
		{"", "calc.", "default"},
		{"", "", "default"},
	} {
		if got := Namespace(c.target, c.method); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.target, c.method, got, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	for field, o := range map[string]Options{
		"Timeout":  {Timeout: -1},
		"MaxDepth": {MaxDepth: 10_001},
		"MaxBatch": {MaxBatch: -1},
		"Rate":     {Rate: wire.Rate{Messages: 1}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "Options."+field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	if _, err := newDialect(t, Options{}).Open(wire.CodecOptions{}); err == nil {
		t.Error("a codec without a Stamper")
	}
}

func TestParseTime(t *testing.T) {
	at := time.Date(2024, 1, 15, 10, 30, 45, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-01-15T10:30:45Z":             at,
		"2024-01-15T10:30:45":              at,
		"2024-01-15 10:30:45":              at,
		"2024-01-15t10:30:45z":             at,
		"2024-01-15T12:30:45+02:00":        at,
		"2024-01-15T08:00:45-0230":         at,
		"2024-01-15T12:30:45+02":           at,
		"20240115T103045Z":                 at,
		"2024-015T10:30:45Z":               at,
		"2024-01-15T10:30:45.5":            at.Add(time.Second / 2),
		"2024-01-15T10:30:45,123456789Z":   at.Add(123456789),
		"2024-01-15T10:30:45.123456+00:00": at.Add(123456 * time.Microsecond),
		"2024-01-15T10:30Z":                at.Add(-45 * time.Second),
		"2024-01-15":                       time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC),
		"":                                 {},
		"T":                                {},
		"yesterday":                        {},
		"2024-02-30T10:30:45Z":             {},
		"2024-01-15T25:30:45Z":             {},
		"2024-01-15T10:30:45Zx":            {},
		"1705314645":                       {},
		"0000-01-01T00:00:00+01:00":        {},
		strings.Repeat("2", 1000):          {},
	} {
		got, ok := parseTime(text)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%.40q: %v %t, want %v", text, got, ok, want)
		}
	}
}
