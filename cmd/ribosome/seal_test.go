package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keysOf makes keys, and returns their file and their id.
func keysOf(t *testing.T, name string) (file, id string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name+".jwks")
	r := runs(t, "keys", file, "--new")
	if r.code != exitDone || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	return file, strings.TrimSpace(r.stdout)
}

// Keys are made once, only their owner can read them, and what is shown has no private part.
func TestKeys(t *testing.T) {
	file, id := keysOf(t, "jules")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v: %v", info.Mode(), err)
	}
	if r := runs(t, "keys", file); r.stdout != id+"\n" || len(id) != 43 {
		t.Errorf("%+v, made with the id %q", r, id)
	}
	var shown struct {
		ID     string
		Public struct{ Keys []map[string]string }
	}
	r := runs(t, "keys", file, "--json")
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil || shown.ID != id || len(shown.Public.Keys) != 2 {
		t.Errorf("%v: %+v", err, r)
	}
	for _, key := range shown.Public.Keys {
		if _, private := key["d"]; private || key["x"] == "" {
			t.Errorf("the key has the members %v", key)
		}
	}
	for want, args := range map[string][]string{
		"exists; leave out --new":   {"keys", file, "--new"},
		"no such file":              {"keys", file + "2"},
		"no JSON Web Key Set":       {"keys", writeFile(t, t.TempDir()+"/bad", "x")},
		`expected "<file>"`:         {"keys"},
		"want private keys":         {"keys", writeFile(t, t.TempDir()+"/public", strings.TrimSuffix(strings.SplitN(r.stdout, `"public":`, 2)[1], "}\n"))},
		"make keys by ribosome":     {"keys", writeFile(t, t.TempDir()+"/empty", `{"keys":[]}`)},
		"no such file or directory": {"keys", filepath.Join(file+"-dir", "keys"), "--new"},
	} {
		if r := runs(t, args...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
	}
}

// A swarm's agents that are sealed serve those whose keys they trust, under the name of the keys,
// and nobody else.
func TestSealedSwarm(t *testing.T) {
	jules, julesID := keysOf(t, "jules")
	eddy, _ := keysOf(t, "eddy")
	alice, aliceID := keysOf(t, "alice")
	n := hosts(t, "--no-auth", "--swarm", "eddyjules", "--seal", "Jules="+jules, "--seal", "Eddy="+eddy, "--trust", "alice="+aliceID)
	call := func(more ...string) ran {
		return runs(t, append([]string{"call", "Jules", "explain_code", "-d", `{"code_snippet":"x = y + 1"}`, "-q", "--addr", n.at["tcp"]}, more...)...)
	}
	sealed := []string{"--keys", alice, "--trust", "Jules=" + julesID}
	if r := call(append(sealed, "--as", "alice")...); r.code != exitDone || r.stdout == "" {
		t.Errorf("sealed: %+v", r)
	}
	for want, args := range map[string][]string{
		"(seal_required)":                {},
		"(unknown_key)":                  append(sealed, "--as", "mallory"),
		"not those of --trust":           {"--as", "alice", "--keys", alice, "--trust", "Jules=" + aliceID},
		"give it a name with --as":       sealed,
		"there is nobody to speak with":  {"--as", "alice", "--keys", alice},
		"--trust is for an agent with":   {"--as", "alice", "--trust", "Jules=" + julesID},
		"such as Jules=ID by ribosome k": {"--as", "alice", "--keys", alice, "--trust", "Jules"},
	} {
		if r := call(args...); r.code == exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
	}
	for want, args := range map[string][]string{
		"such as Jules=jules.jwks":           {"--seal", "Jules"},
		"--seal names Jules twice":           {"--seal", "Jules=" + jules, "--seal", "Jules=" + eddy},
		"--seal Rubber: the node runs no":    {"--swarm", "eddyjules", "--seal", "Rubber=" + jules},
		"are for agents with keys":           {"--trust-first-use"},
		"are for agents with keys; add":      {"--trust", "Jules=" + julesID},
		"make keys by ribosome keys --new":   {"--seal", "Jules=" + writeFile(t, t.TempDir()+"/none", "{}")},
		"no such file or directory; name a ": {"--seal", "Jules=" + jules + "2"},
	} {
		if r := runs(t, append([]string{"node", "--no-auth", "--tcp", "127.0.0.1:0"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("node %q: %+v, want %q", args, r, want)
		}
	}
}
