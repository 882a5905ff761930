package main

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// aJWT has the form of a token, and the key of nobody.
const aJWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJBbmEifQ.c2ln" //nolint:gosec // nobody's

func TestShown(t *testing.T) {
	for _, path := range []string{"", "nope", "nope.yaml", "/var/run/secrets/kubernetes.io/serviceaccount/token", "../certificates-of-the-node.pem", "./tokens", `C:\ribosome\tokens`, "127.0.0.1:8444"} {
		if got := shown(path); got != path {
			t.Errorf("%q is shown as %q", path, got)
		}
	}
	for _, secret := range []string{
		aJWT, anasToken, otherToken, "Ana " + anasToken, "SG.0123456789abcdef.0123456789abcdef", "4b8d1a2c3e4f5061728394a5b6c7d8e9",
		"q0/cQy5m3kz7o2hZ+p1A/Vq0m8cQy5m3kz7o2hZ4p1A=", strings.Repeat("a/", 51),
	} {
		if got := shown(secret); got != notShown {
			t.Errorf("%q is shown as %q", secret, got)
		}
	}
}

// A token in the wrong place is not told to who reads the log.
func TestMisplacedSecrets(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	missing := notShown + `: no such file or directory; name a file that can be read`
	agents := []string{"agents", "--addr", "tcp://127.0.0.1:1"}
	node := []string{"node", "--tcp", "127.0.0.1:0"}
	for _, secret := range []string{aJWT, anasToken} {
		for name, tt := range map[string]struct {
			args []string
			line string
		}{
			"token file":    {append(agents, "--token-file", secret), `--token-file ` + missing},
			"client secret": {append(agents, "--oauth-url", "https://127.0.0.1:1", "--oauth-client", "me", "--oauth-secret-file", secret), `--oauth-secret-file ` + missing},
			"data":          {[]string{"call", "Jules", "x", "--addr", "tcp://127.0.0.1:1", "-d", "@" + secret}, `--data ` + missing},
			"config":        {append(agents, "--config", secret), `--config ` + missing},
			"tokens":        {append(node, "--tokens", secret), `--tokens ` + missing},
			"key":           {append(node, "--jwt-key", secret), `--jwt-key ` + missing},
			"swarm":         {append(node, "--no-auth", "--swarm", secret), `--swarm ` + notShown + `: there is no such swarm; want one of eddyjules, rag or none`},
			"documents":     {append(node, "--no-auth", "--swarm", "rag", "--docs", secret), `--docs ` + notShown + `: there is no such folder`},
			"address":       {[]string{"node", "--no-auth", "--tcp", secret}, `--tcp ` + notShown + `: want a host and a port, such as 127.0.0.1:8444`},
			"argument":      {append(agents, secret), `unexpected argument ` + notShown + `; see ribosome agents --help`},
			"command":       {[]string{secret}, `unexpected argument ` + notShown + `; see ribosome --help`},
			"flag":          {append(agents, "--"+secret), `unknown flag ` + notShown + `; see ribosome agents --help`},
			"rate":          {append(node, "--rate", secret), `--rate: want a number of messages and a window, such as 100/1m, not "` + notShown + `"; see ribosome node --help`},
			"log level":     {append(node, "--log-level="+secret), `--log-level must be one of "debug","info","warn","error" but got "` + notShown + `"; see ribosome node --help`},
		} {
			r := runs(t, tt.args...)
			if r.code != exitUsage || r.stderr != "ribosome: "+tt.line+"\n" {
				t.Errorf("%s: exit code %d, stderr\n%s, want\nribosome: %s", name, r.code, r.stderr, tt.line)
			}
			noSecrets(t, r)
		}
		t.Setenv("RIBOSOME_LOG_LEVEL", secret)
		noSecrets(t, runs(t, node...))
		t.Setenv("RIBOSOME_LOG_LEVEL", "")
		noSecrets(t, runs(t, append(node, "--config", writeFile(t, "c.yaml", "log-format: "+secret+"\n"))...))
	}
}
