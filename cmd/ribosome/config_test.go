package main

import (
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// parsed parses a command line that is right, and returns its command.
func parsed[T command](t *testing.T, args ...string) T {
	t.Helper()
	cmd, err := parse(args, io.Discard, &sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := cmd.(T)
	if !ok {
		t.Fatalf("parsed a %T", cmd)
	}
	return c
}

// A value of each kind, from the file, from the environment and from a flag, each of
// which goes before those before it.
func TestPrecedence(t *testing.T) {
	racetest.Skip(t)
	for name, tt := range map[string]struct {
		flag, file, env, arg string
		get                  func(*nodeCmd) any
		none, byFile, byEnv  any
		byArg                any
	}{
		"string": {
			"name", "f", "e", "a", func(c *nodeCmd) any { return c.Name },
			"node", "f", "e", "a",
		},
		"duration": {
			"ping-interval", "1s", "2s", "3s", func(c *nodeCmd) any { return c.PingInterval },
			30 * time.Second, time.Second, 2 * time.Second, 3 * time.Second,
		},
		"boolean": {
			"compress", "true", "false", "true", func(c *nodeCmd) any { return c.Compress },
			false, true, false, true,
		},
		"list": {
			"ws-origin", "[f1, f2]", "e1, e2", "a1,a2", func(c *nodeCmd) any { return c.WSOrigin },
			[]string(nil),
			[]string{"f1", "f2"},
			[]string{"e1", "e2"},
			[]string{"a1", "a2"},
		},
		"list of one": {
			"jwt-alg", "f1", "e1", "a1", func(c *nodeCmd) any { return c.JWTAlg },
			[]string(nil),
			[]string{"f1"},
			[]string{"e1"},
			[]string{"a1"},
		},
		"number": {
			"max-connections", "1", "2", "3", func(c *nodeCmd) any { return c.MaxConnections },
			16384, 1, 2, 3,
		},
		"size": {
			"max-frame", "1KiB", "2048", "3KiB", func(c *nodeCmd) any { return c.MaxFrame },
			size(16 << 20), size(1 << 10), size(2 << 10), size(3 << 10),
		},
		"rate": {
			"rate", "1/1s", "2/1s", "3/1s", func(c *nodeCmd) any { return c.Rate },
			rate{},
			rate{1, time.Second},
			rate{2, time.Second},
			rate{3, time.Second},
		},
		"choice": {
			"log-level", "warn", "error", "debug", func(c *nodeCmd) any { return c.LogLevel },
			"info", "warn", "error", "debug",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			check := func(from string, want any, args ...string) {
				t.Helper()
				got := tt.get(parsed[*nodeCmd](t, append([]string{"node"}, args...)...))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s", from, diff)
				}
			}
			check("default", tt.none)
			writeFile(t, "c.yaml", "# all\n"+tt.flag+": "+tt.file+"\n")
			check("file", tt.byFile, "--config", "c.yaml")
			t.Setenv("RIBOSOME_CONFIG", "c.yaml")
			check("file of the environment", tt.byFile)
			t.Setenv(variable(tt.flag), tt.env)
			check("environment", tt.byEnv)
			check("flag", tt.byArg, "--"+tt.flag+"="+tt.arg)
			t.Setenv(variable(tt.flag), "")
			check("empty variable", tt.byFile)
		})
	}
}

func TestFlagsThatOverrideTrue(t *testing.T) {
	t.Setenv("RIBOSOME_NO_AUTH", "true")
	if parsed[*nodeCmd](t, "node", "--no-auth=false").NoAuth {
		t.Error("--no-auth=false does not override the environment")
	}
}

// A misspelt variable would otherwise be ignored, such as one that demands tokens.
func TestUnknownVariable(t *testing.T) {
	t.Setenv("RIBOSOME_PORT", "tcp://10.0.0.1:8444") // of Kubernetes
	t.Setenv("RIBOSOME_SERVICE_PORT_WS", "8443")
	t.Setenv("RIBOSOME_TOKNES", "")
	parsed[*nodeCmd](t, "node")
	t.Setenv("RIBOSOME_TOKNES", "s3cret")
	_, err := parse([]string{"node"}, io.Discard, &sources{})
	const want = `no flag has the variable "RIBOSOME_TOKNES"; the nearest is RIBOSOME_TOKENS; correct or unset it`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestListOfLines(t *testing.T) {
	t.Setenv("RIBOSOME_ACTION", "a=one, two\nb=three")
	got := parsed[*listenCmd](t, "listen", "--topic", "x,y", "--topic", "z")
	if diff := cmp.Diff([]string{"a=one, two", "b=three"}, got.Action); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x", "y", "z"}, got.Topic); diff != "" {
		t.Error(diff)
	}
	if got := parsed[*listenCmd](t, "listen", "--action", "a=one, two", "--action", "b").Action; !reflect.DeepEqual(got, []string{"a=one, two", "b"}) {
		t.Errorf("got %q", got)
	}
}

// One file serves all the commands.
func TestOneFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "c.yaml", "tcp: &at 127.0.0.1:8444\naddr: tcp://127.0.0.1:8444\ngrpc: *at\njson: yes\n")
	if got := parsed[*nodeCmd](t, "node", "--config", "c.yaml"); got.TCP != "127.0.0.1:8444" || got.GRPC != got.TCP {
		t.Errorf("got %+v", got.listenFlags)
	}
	if got := parsed[*agentsCmd](t, "agents", "--config", "c.yaml"); got.Addr != "tcp://127.0.0.1:8444" || !got.JSON {
		t.Errorf("got %+v", got)
	}
}

func TestNothingInTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"empty": "", "comments": "# tcp: x\n", "a document": "---\n"} {
		writeFile(t, "c.yaml", text)
		if got := parsed[*nodeCmd](t, "node", "--config", "c.yaml"); got.TCP != "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestBadConfig(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	for name, tt := range map[string]struct {
		text, env, line string
	}{
		"unknown key":      {"tcp: x\ntpc: y\n", "", `c.yaml, line 2: there is no key tpc; the nearest is tcp, and ribosome node --help lists the others`},
		"underscores":      {"log_lvel: y\n", "", `c.yaml, line 1: there is no key log_lvel; the nearest is log-level, and ribosome node --help lists the others`},
		"config":           {"config: y\n", "", `c.yaml, line 1: config names this file, and cannot be in it; leave it out`},
		"tokens":           {"s3cret-a9: Jules\n", "", `c.yaml, line 1: this key is no flag; the keys are the flags without their dashes, see ribosome node --help`},
		"twice":            {"tcp: x\nws: y\ntcp: z\n", "", `c.yaml, line 3: tcp is given twice, first in line 1; leave one`},
		"list":             {"tcp: [x]\n", "", `c.yaml, line 1: tcp wants one value, not a list`},
		"mapping":          {"tcp: {s3cret: y}\n", "", `c.yaml, line 1: tcp wants a value, or a list of values; see ribosome node --help`},
		"nothing":          {"tcp:\n", "", `c.yaml, line 1: tcp wants a value, or a list of values; see ribosome node --help`},
		"no mapping":       {"s3cret", "", `c.yaml is no mapping; write one key and its value a line, such as tcp: 127.0.0.1:8444`},
		"no YAML":          {"tcp: x\ntoken: *s3cret\n", "", `c.yaml is not YAML; write one key and its value a line, such as tcp: 127.0.0.1:8444`},
		"nor this":         {"tcp: x\n\ttoken: s3cret\n", "", `c.yaml is not YAML from line 2 on; write one key and its value a line, such as tcp: 127.0.0.1:8444`},
		"two documents":    {"tcp: x\n---\ntcp: y\n", "", `c.yaml holds more than one YAML document; leave one`},
		"bad duration":     {"tcp: x\nping-timeout: 30\n", "", `c.yaml, line 2: ping-timeout: want a length of time, such as 500ms, 30s or 5m, not "30"; see ribosome node --help`},
		"bad choice":       {"log-level: loud\n", "", `c.yaml, line 1: log-level must be one of "debug","info","warn","error" but got "loud"; see ribosome node --help`},
		"bad boolean":      {"no-auth: maybe\n", "", `c.yaml, line 1: no-auth: bool value must be true, 1, yes, false, 0 or no but got "maybe"; see ribosome node --help`},
		"bad number":       {"max-connections: many\n", "", `c.yaml, line 1: max-connections: want a number, not "many"; see ribosome node --help`},
		"bad environment":  {"", "many", `RIBOSOME_RATE: want a number of messages and a window, such as 100/1m, not "many"; see ribosome node --help`},
		"environment wins": {"rate: x\n", "many", `RIBOSOME_RATE: want a number of messages and a window, such as 100/1m, not "many"; see ribosome node --help`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RIBOSOME_RATE", tt.env)
			writeFile(t, "c.yaml", tt.text)
			r := runs(t, "node", "--config", "c.yaml")
			if r.code != exitUsage || r.stderr != "ribosome: "+tt.line+"\n" {
				t.Errorf("exit code %d, stderr\n%s, want\nribosome: %s", r.code, r.stderr, tt.line)
			}
			if strings.Contains(r.stderr, "s3cret") {
				t.Error("it tells a secret")
			}
		})
	}
	if r := runs(t, "node", "--config", "nope.yaml"); r.code != exitUsage || r.stderr != "ribosome: --config nope.yaml: no such file or directory; name a file that can be read\n" {
		t.Errorf("got %+v", r)
	}
}
