package main

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// Each way to call the program wrongly, and the line that says so.
func TestCalledWrongly(t *testing.T) {
	racetest.Skip(t)
	t.Chdir(t.TempDir())
	writeFile(t, "empty", "")
	writeFile(t, "broken.json", "{\n  \"a\": 1,\n  \"b\": }\n")
	writeFile(t, "twice.json", `{} {}`)
	writeFile(t, "token", "s3cret")
	call := []string{"call", "Jules", "debug_code", "--addr", "tcp://127.0.0.1:1"}
	node := []string{"node", "--tcp", "127.0.0.1:0"}
	for name, tt := range map[string]struct {
		args []string
		line string
	}{
		"nothing":             {nil, `expected one of "node", "call", "send", "query", "listen", ...; see ribosome --help`},
		"unknown command":     {[]string{"nodes"}, `unexpected argument nodes, did you mean "node"; see ribosome --help`},
		"unknown flag":        {[]string{"node", "--tpc", "x"}, `unknown flag --tpc, did you mean one of "--type", "--tcp", "--grpc"; see ribosome node --help`},
		"one argument":        {[]string{"call", "Jules"}, `expected "<action>"; see ribosome call --help`},
		"no value":            {[]string{"node", "--tcp"}, `--tcp wants a value; see ribosome node --help`},
		"duration":            {append(node, "--ping-interval", "soon"), `--ping-interval: want a length of time, such as 500ms, 30s or 5m, not "soon"; see ribosome node --help`},
		"negative duration":   {append(node, "--stop-timeout=-1s"), `--stop-timeout: want a length of time, such as 500ms, 30s or 5m, not "-1s"; see ribosome node --help`},
		"rate":                {append(node, "--rate", "100"), `--rate: want a number of messages and a window, such as 100/1m, not "100"; see ribosome node --help`},
		"rate of nothing":     {append(node, "--rate", "0/1m"), `--rate: want a number of messages and a window, such as 100/1m, not "0/1m"; see ribosome node --help`},
		"size":                {append(node, "--max-frame", "16MB"), `--max-frame: want a number of bytes up to 2 GiB, such as 65536, 64KiB or 16MiB, not "16MB"; see ribosome node --help`},
		"huge size":           {append(node, "--max-frame", "4GiB"), `--max-frame: want a number of bytes up to 2 GiB, such as 65536, 64KiB or 16MiB, not "4GiB"; see ribosome node --help`},
		"log level":           {append(node, "--log-level", "loud"), `--log-level must be one of "debug","info","warn","error" but got "loud"; see ribosome node --help`},
		"no listener":         {[]string{"node", "--no-auth"}, `no listener; give the node an address to be reached at, such as --tcp 127.0.0.1:8444`},
		"half introspection":  {append(node, "--introspect-url", "https://id", "--introspect-client", "n"), `--introspect-url, --introspect-client and --introspect-secret-file belong together; give all three`},
		"audience of nothing": {append(node, "--no-auth", "--introspect-audience", "n"), `--introspect-url, --introspect-client and --introspect-secret-file belong together; give all three`},
		"two of opaque":       {append(node, "--introspect-url", "https://id", "--introspect-client", "n", "--introspect-secret-file", "tokens", "--tokens", "tokens"), `--tokens and --introspect-url both say which opaque tokens count; leave one`},
		"a pattern of nobody": {append(node, "--no-auth", "--client-agent", "spiffe://a/{agent}"), `--client-agent needs --client-ca, which says whose certificates count`},
		"no auth":             {node, `nothing says who may connect; give --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca, or --no-auth on a loopback address`},
		"open to all":         {[]string{"node", "--tcp", "127.0.0.1:0", "--ws", "0.0.0.0:8443", "--no-auth"}, `--no-auth would let everyone in who reaches --ws 0.0.0.0:8443; use 127.0.0.1:8443, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"open to all, grpc":   {[]string{"node", "--grpc", ":8445", "--no-auth"}, `--no-auth would let everyone in who reaches --grpc :8445; use 127.0.0.1:8445, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"open to all, http":   {[]string{"node", "--http", "0.0.0.0:8080", "--no-auth"}, `--no-auth would let everyone in who reaches --http 0.0.0.0:8080; use 127.0.0.1:8080, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"read by all":         {[]string{"node", "--http", "0.0.0.0:8080"}, `without a flag that says who may connect, everyone who reaches --http 0.0.0.0:8080 may read; use 127.0.0.1:8080, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"read by all, name":   {[]string{"node", "--http", "example.org:80"}, `without a flag that says who may connect, everyone who reaches --http example.org:80 may read; use 127.0.0.1:80, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"http and no auth":    {append(node, "--http", "127.0.0.1:0"), `nothing says who may connect; give --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca, or --no-auth on a loopback address`},
		"nobody approves":     {[]string{"node", "--http", "127.0.0.1:0", "--approvals", "ops"}, `--approvals "ops": without a flag that says who may connect, nobody may do more than read by --http; add --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca, or --no-auth, which lets everyone on this machine decide`},
		"nobody drains":       {[]string{"node", "--http", "127.0.0.1:0", "--operators", "*"}, `--operators: without a flag that says who may connect, nobody may do more than read by --http; add --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca, or --no-auth, which lets everyone on this machine act`},
		"rules of nobody":     {[]string{"node", "--http", "127.0.0.1:0", "--rules", "token"}, `--rules: without a flag that says who may connect, nobody may do more than read by --http; add --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"http address":        {[]string{"node", "--http", "8080", "--no-auth"}, `--http 8080: want a host and a port, such as 127.0.0.1:8444`},
		"open to all, name":   {[]string{"node", "--tcp", "example.org:1", "--no-auth"}, `--no-auth would let everyone in who reaches --tcp example.org:1; use 127.0.0.1:1, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca`},
		"address":             {[]string{"node", "--tcp", "8444", "--no-auth"}, `--tcp 8444: want a host and a port, such as 127.0.0.1:8444`},
		"port":                {[]string{"node", "--tcp", "127.0.0.1:99999", "--no-auth"}, `--tcp 127.0.0.1:99999: there is no such port; want one from 1 to 65535, or 0 for any that is free`},
		"negative port":       {[]string{"node", "--grpc", "127.0.0.1:-1", "--no-auth"}, `--grpc 127.0.0.1:-1: there is no such port; want one from 1 to 65535, or 0 for any that is free`},
		"named port":          {[]string{"node", "--ws", "127.0.0.1:nope", "--no-auth"}, `--ws 127.0.0.1:nope: there is no such port; want one from 1 to 65535, or 0 for any that is free`},
		"auth and none":       {append(node, "--no-auth", "--tokens", "token"), `--no-auth lets everyone in, and other flags say who may; leave one or the other`},
		"two keys":            {append(node, "--jwt-key", "token", "--jwks-url", "https://x"), `--jwt-key and --jwks-url both say where the keys are; leave one`},
		"nothing to check":    {append(node, "--no-auth", "--jwt-issuer", "x"), `--jwt-alg, --jwt-issuer and --jwt-audience are about tokens that nothing checks; add --jwt-key or --jwks-url`},
		"half a pair":         {append(node, "--no-auth", "--tls-cert", "token"), `--tls-cert and --tls-key belong together; give both`},
		"authority, no TLS":   {append(node, "--client-ca", "token"), `--client-ca needs TLS; add --tls-cert and --tls-key`},
		"certificate of whom": {append(node, "--no-auth", "--require-client-cert"), `--require-client-cert needs --client-ca, which says whose certificates count`},
		"no pair":             {append(node, "--no-auth", "--tls-cert", "token", "--tls-key", "token"), `TLS: token and token: tls: failed to find any PEM data in certificate input; check --tls-cert, --tls-key and --client-ca`},
		"missing certificate": {append(node, "--no-auth", "--tls-cert", "nope", "--tls-key", "token"), `--tls-cert nope: no such file or directory; name a file that can be read`},
		"message log":         {append(node, "--no-auth", "--message-log", "nope/log"), `--message-log nope/log: no such file or directory; name a file that can be written`},
		"audit trail":         {append(node, "--no-auth", "--audit", "nope/log", "--log-level", "error"), `--audit nope/log: no such file or directory; name a file that can be written`},
		"audit size":          {append(node, "--no-auth", "--audit", "log", "--audit-size", "64KiB"), `--audit-size: want whole MiB, such as 64MiB`},
		"audit keeps nothing": {append(node, "--no-auth", "--audit", "log", "--audit-keep", "0s"), `--audit-keep: want more than 0, not 0s; see ribosome node --help`},
		"origin":              {append(node, "--no-auth", "--ws-origin", "*,example.org"), `--ws-origin example.org: want a scheme and a host, such as https://example.org, or *`},
		"path":                {append(node, "--no-auth", "--ws-path", "mcp"), `--ws-path mcp: want a path that begins with a slash, such as /mcp`},
		"nobody":              {append(node, "--no-auth", "--max-connections", "0"), `--max-connections: want more than 0, not 0; see ribosome node --help`},
		"nobody of a host":    {append(node, "--no-auth", "--max-per-host=-1"), `--max-per-host -1 lets nobody in; want a number above 0, or 0 for a quarter of --max-connections`},
		"negative pace":       {append(node, "--no-auth", "--swarm", "eddyjules", "--pace=-1s"), `--pace: want a length of time, such as 500ms, 30s or 5m, not "-1s"; see ribosome node --help`},
		"pace of nothing":     {append(node, "--no-auth", "--pace", "1s"), `--pace 1s: it is the time of the steps of the swarm eddyjules; leave it out, or add --swarm eddyjules`},
		"pace of rag":         {append(node, "--no-auth", "--swarm", "rag", "--pace", "1s"), `--pace 1s: it is the time of the steps of the swarm eddyjules; leave it out, or add --swarm eddyjules`},
		"code of rag":         {append(node, "--no-auth", "--swarm", "rag", "--code-root", "."), `--code-root .: it is for the code of the swarm eddyjules; leave it out, or add --swarm eddyjules`},
		"no such code":        {append(node, "--no-auth", "--swarm", "eddyjules", "--code-root", "nope"), `--code-root nope: there is no such folder`},
		"documents":           {append(node, "--no-auth", "--swarm", "eddyjules", "--docs", "."), `--docs .: it is the folder of the swarm rag; leave it out, or add --swarm rag`},
		"documents of nobody": {append(node, "--no-auth", "--docs", "."), `--docs .: it is the folder of the swarm rag; leave it out, or add --swarm rag`},
		"no such documents":   {append(node, "--no-auth", "--swarm", "rag", "--docs", "nope"), `--docs nope: there is no such folder`},
		"no time to answer":   {append(node, "--no-auth", "--ping-timeout", "30s"), `--ping-timeout 30s is not longer than --ping-interval 30s, so that no peer had time to answer; make it longer`},
		"swarm":               {append(node, "--no-auth", "--swarm", "eddy"), `--swarm eddy: there is no such swarm; want one of eddyjules, rag or none`},

		"no address":         {[]string{"call", "Jules", "x"}, `no address; say where the node is with --addr, such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http`},
		"no URL":             {[]string{"agents", "--addr", "127.0.0.1:8444"}, `--addr is no address; want one such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http`},
		"transport":          {[]string{"agents", "--addr", "ftp://127.0.0.1:8444"}, `--addr: there is no transport "ftp"; want an address such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http`},
		"no port":            {[]string{"agents", "--addr", "tcps://127.0.0.1"}, `--addr tcps://127.0.0.1 lacks the port; want an address such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http`},
		"password":           {[]string{"agents", "--addr", "ws://me:s3cret@127.0.0.1:1"}, `--addr has a name or a password in it; give a token with --token-file instead`},
		"path of tcp":        {[]string{"agents", "--addr", "tcp://127.0.0.1:1/mcp"}, `--addr says more than where the node is; want an address such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http`},
		"JSON":               {append(call, "-d", `{"a":}`), `--data is not JSON: line 1, column 6: invalid character '}' looking for beginning of value; give JSON as it is, or @FILE, or @- for stdin`},
		"JSON in a file":     {append(call, "-d", "@broken.json"), `broken.json is not JSON: line 3, column 8: invalid character '}' looking for beginning of value; give JSON as it is, or @FILE, or @- for stdin`},
		"two values":         {append(call, "-d", "@twice.json"), `twice.json is not JSON: line 1, column 4: invalid character '{' after top-level value; give JSON as it is, or @FILE, or @- for stdin`},
		"half a value":       {append(call, "-d", `{"a":1`), `--data is not JSON: line 1, column 6: unexpected end of JSON input; give JSON as it is, or @FILE, or @- for stdin`},
		"empty file":         {append(call, "-d", "@empty"), `empty is not JSON: it is empty; give JSON as it is, or @FILE, or @- for stdin`},
		"missing file":       {append(call, "-d", "@nope.json"), `--data nope.json: no such file or directory; name a file that can be read`},
		"directory":          {append(call, "-d", "@."), `--data .: is a directory; name a file that can be read`},
		"no deadline":        {append(call, "--deadline", "0s"), `--deadline: want more than 0, not 0s; see ribosome call --help`},
		"no agent":           {[]string{"call", "", "x", "--addr", "tcp://127.0.0.1:1"}, `<agent>: it may not be empty; see ribosome call --help`},
		"two tokens":         {append(call, "--token", "s3cret", "--token-file", "token"), `there is a token from --token or RIBOSOME_TOKEN, and --token-file names another; leave one`},
		"no token":           {append(call, "--token-file", "empty"), `--token-file empty is empty; write the token into it`},
		"token in words":     {append(call, "--token", "my s3cret"), `--token is no token: there are spaces or special characters in it; give the bare token`},
		"missing token":      {append(call, "--token-file", "nope"), `--token-file nope: no such file or directory; name a file that can be read`},
		"authority, tcp":     {append(call, "--ca", "token"), `--ca, --cert and --key are about TLS, and tcp://127.0.0.1:1 is without; use tcps://`},
		"half a client pair": {append(call, "--cert", "token"), `--cert and --key belong together; give both`},
		"no authority":       {[]string{"agents", "--addr", "tcps://127.0.0.1:1", "--ca", "token"}, `TLS: token: no certificate in it; check --ca, --cert and --key`},
		"no act":             {[]string{"send", "Jules", "SHOUT", "--addr", "tcp://127.0.0.1:1"}, `<act>: performative "SHOUT" is none of the known acts (unknown_performative); see ribosome send --help`},
		"message type":       {[]string{"send", "Jules", "REQUEST", "--message-type", "two words", "--addr", "tcp://127.0.0.1:1"}, `--message-type is no message type; want 1 to 64 letters, digits and _ - . : /`},
		"no question":        {[]string{"query", "Jules", "--addr", "tcp://127.0.0.1:1"}, `nothing to ask; give a reference, or a condition with --if`},
		"two questions":      {[]string{"query", "Jules", "x", "--if", "3", "--addr", "tcp://127.0.0.1:1"}, `there is a reference, and --if has a condition; leave one`},
		"no condition":       {[]string{"query", "Jules", "--if", "full", "--addr", "tcp://127.0.0.1:1"}, `--if is not JSON: line 1, column 2: invalid character 'u' in literal false (expecting 'a'); give JSON as it is, or @FILE, or @- for stdin`},
		"no topic":           {[]string{"subscribe", "Jules", "--addr", "tcp://127.0.0.1:1"}, `expected "<topic> ..."; see ribosome subscribe --help`},
		"topics of all":      {[]string{"subscribe", "system", "x", "--addr", "tcp://127.0.0.1:1"}, `system stands for all agents of a node, and publishes nothing; name an agent, see ribosome agents for a list`},
		"data, no object":    {[]string{"call", "Jules", "debug_code", "-d", "3", "--addr", "tcp://127.0.0.1:1"}, `--data is not a JSON object; give one, such as {"name":"value"}`},
		"answer, no object":  {[]string{"listen", "--as", "x", "--answer", "[1]"}, `--answer is not a JSON object; give one, such as {"name":"value"}`},
		"nameless":           {[]string{"listen", "--addr", "tcp://127.0.0.1:1"}, `an agent needs a name; give it one with --as, such as --as Rubber`},
		"name with a space":  {[]string{"listen", "--addr", "tcp://127.0.0.1:1", "--as", " x"}, `--as " x" is no name for an agent; want one without spaces around it, of at most 256 bytes`},
		"name of the system": {[]string{"listen", "--addr", "tcp://127.0.0.1:1", "--as", "System"}, `--as System stands for all agents of a node; choose another name`},
		"nameless action":    {[]string{"listen", "--as", "x", "--action", "=y"}, `--action "=y" has no name; want NAME or NAME=DESCRIPTION`},
		"answer":             {[]string{"listen", "--as", "x", "--answer", "no"}, `--answer is not JSON: line 1, column 2: invalid character 'o' in literal null (expecting 'u'); give JSON as it is, or @FILE, or @- for stdin`},
	} {
		t.Run(name, func(t *testing.T) {
			r := runs(t, tt.args...)
			if r.code != exitUsage || r.stdout != "" || r.stderr != "ribosome: "+tt.line+"\n" {
				t.Errorf("exit code %d, stdout %q, stderr\n%s, want\nribosome: %s", r.code, r.stdout, r.stderr, tt.line)
			}
			if strings.Contains(r.stderr, "s3cret") {
				t.Error("it tells a secret")
			}
		})
	}
}

func TestJSONOnStdin(t *testing.T) {
	r := runsWith(t.Context(), "[1,\n  tru]", "call", "Jules", "x", "--addr", "tcp://127.0.0.1:1", "-d", "@-")
	if r.code != exitUsage || !strings.Contains(r.stderr, "stdin is not JSON: line 2, column 6: ") {
		t.Errorf("got %+v", r)
	}
}
