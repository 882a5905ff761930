package main

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	ragswarm "github.com/ribosome-agents/ribosome/examples/rag/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// nodeCmd is ribosome node.
type nodeCmd struct {
	Name        string        `default:"node" help:"Name of the node"`
	Swarm       string        `default:"none" placeholder:"NAME" help:"Swarm to host: eddyjules, rag or none"`
	Pace        time.Duration `default:"0s" help:"Time that the swarm takes for each step of its work, so that one can watch it in the console; 0s is 2s for the example tasks that a node with --http alone gives the swarm eddyjules"`
	CodeRoot    string        `placeholder:"DIR" help:"Folder in which the swarm eddyjules reads the files whose paths come in place of code; without it, none is read"`
	Docs        string        `placeholder:"DIR" help:"Folder whose Markdown, text, CSV and PDF files the swarm rag answers from; without it, a few sample documents"`
	Types       []string      `name:"type" sep:"none" placeholder:"NAME=ACT:SCHEMA.json" help:"Message types of your own, each with its act and the JSON Schema of its payload, one a flag"`
	Approvals   string        `placeholder:"NAME" help:"Agent that other agents ask for approval, whose steps an operator decides by --http"`
	DrainTime   time.Duration `default:"10s" type:"positive" help:"How long the agents that the cluster has placed may take to move to other nodes, after a signal to stop or ribosome drain"`
	StopTimeout time.Duration `default:"10s" help:"How long what is under way may take after a signal to stop"`

	listenFlags  `group:"Listeners, at least one:"`
	authFlags    `group:"Who may connect, and do what:"`
	sealFlags    `group:"Agents whose payloads are sealed, end to end:"`
	tlsFlags     `group:"TLS, for all listeners:"`
	limitFlags   `group:"Limits:"`
	clusterFlags `group:"The cluster, if the node is to be in one:"`
	bridgeFlags  `group:"Another node outside of the cluster:"`
	recordFlags  `group:"What --http keeps for the operator:"`
	otlpFlags    `group:"Traces and metrics for a collector:"`
	logFlags     `group:"Log, on stderr unless a flag says otherwise:"`
}

// listenFlags has the addresses of the listeners.
type listenFlags struct {
	WS       string   `name:"ws" placeholder:"ADDR" help:"WebSocket address, such as 127.0.0.1:8443; port 0 is any that is free"`
	WSPath   string   `name:"ws-path" default:"/mcp" placeholder:"PATH" help:"Path of the WebSocket: /mcp"`
	WSOrigin []string `name:"ws-origin" placeholder:"ORIGIN" help:"Origins of web pages that may connect; without it, only pages of the same host"`
	TCP      string   `name:"tcp" placeholder:"ADDR" help:"TCP address"`
	GRPC     string   `name:"grpc" placeholder:"ADDR" help:"gRPC address"`
	HTTP     string   `name:"http" placeholder:"ADDR" help:"Address of the operator's HTTP interface, such as 127.0.0.1:8080: console, health, metrics, agents and conversations; as the only listener it needs no tokens on a loopback address, and everyone on this machine may read, but not act; then the node gives the swarm eddyjules example tasks"`
	Compress bool     `help:"Compress what is sent to peers that want it: permessage-deflate or gzip"`
}

// authFlags has the settings of authentication and permission.
type authFlags struct {
	NoAuth      bool     `name:"no-auth" help:"Let everyone in; only with listeners on loopback addresses"`
	Tokens      string   `placeholder:"FILE" help:"Bearer tokens: a file that says who has which"`
	JWTKey      string   `name:"jwt-key" placeholder:"FILE" help:"Key that JSON Web Tokens are signed with: a secret, or a public key in PEM"`
	JWKSURL     string   `name:"jwks-url" placeholder:"URL" help:"Address of the keys that JSON Web Tokens are signed with"`
	JWTAlg      []string `name:"jwt-alg" placeholder:"ALG" help:"Algorithms that a JSON Web Token may be signed by, such as HS256 or EdDSA; without it, those that go with the key"`
	JWTIssuer   string   `name:"jwt-issuer" placeholder:"ISS" help:"Issuer that a JSON Web Token must name"`
	JWTAudience string   `name:"jwt-audience" placeholder:"AUD" help:"Audience that a JSON Web Token must name"`
	Introspect  string   `name:"introspect-url" placeholder:"URL" help:"Address where the issuer of OAuth2 tokens says whether a token is active; it needs the other two flags that begin with --introspect"`
	IntroClient string   `name:"introspect-client" placeholder:"ID" help:"Client id of the node at that address"`
	IntroSecret string   `name:"introspect-secret-file" placeholder:"FILE" help:"File with the client secret of the node at that address"`
	IntroAud    string   `name:"introspect-audience" placeholder:"AUD" help:"Audience that such a token must be for"`
	Operators   []string `placeholder:"NAME" help:"Who may run ribosome drain: names that have authenticated, and those below them; * is everyone who may connect; without it, nobody"`
	Discovery   bool     `name:"public-discovery" help:"Let MCP_DISCOVERY of rossnet be asked for agents without a token; with --rules, the answer lists the agents that everyone may call"`
	Rules       string   `placeholder:"FILE" help:"Rules of who may talk to which agent; without it, everyone to all"`
}

// tlsFlags has the certificates of a node.
type tlsFlags struct {
	TLSCert           string `name:"tls-cert" placeholder:"FILE" help:"Certificate chain in PEM; it makes the listeners wss, tcps and grpcs"`
	TLSKey            string `name:"tls-key" placeholder:"FILE" help:"Private key of the certificate in PEM"`
	ClientCA          string `name:"client-ca" placeholder:"FILE" help:"Authorities in PEM whose client certificates prove who a peer is"`
	ClientAgent       string `name:"client-agent" placeholder:"PATTERN" help:"Where a client certificate's URI has the agent id, such as spiffe://example.org/ns/*/sa/{agent}; without it, after /agent/, and a certificate without URIs has it as its common name"`
	RequireClientCert bool   `name:"require-client-cert" help:"Refuse a peer without such a certificate"`
}

// limitFlags has the limits for peers.
type limitFlags struct {
	Rate           rate          `placeholder:"N/WINDOW" help:"Messages of each agent, and of each connection, such as 100/1m; without it, no bound"`
	ReplayWindow   time.Duration `placeholder:"DURATION" help:"How far the timestamp of a message may be from now, and how long its id may not come again; without it, neither is checked"`
	MaxFrame       size          `default:"16MiB" help:"Longest frame"`
	MaxConnections int           `default:"16384" type:"positive" help:"Most connections at a time"`
	MaxPerHost     int           `default:"0" help:"Most connections of one host at a time; 0 is a quarter of all, and no bound for this machine"`
	MaxHTTP        int           `name:"max-http-connections" default:"1024" type:"positive" help:"Most connections at a time to --http; further ones are answered 503"`
	PingInterval   time.Duration `default:"30s" help:"Silence after which a peer is asked whether it is there; 0s is never"`
	PingTimeout    time.Duration `default:"60s" help:"Silence after which a peer is given up; 0s is never"`
}

// recordFlags has the bounds of the recorder, which is on with --http: nothing else reads it
// (docs/adr/0048-recorder-of-the-program.md).
type recordFlags struct {
	RecordConversations int  `default:"1000" type:"positive" help:"Most conversations that are kept; those without a message for the longest time are forgotten"`
	RecordBytes         size `default:"64MiB" help:"Most memory of the kept conversations, estimated"`
}

// logFlags has the settings of the log.
type logFlags struct {
	LogLevel    string `default:"info" enum:"debug,info,warn,error" help:"Least that is written: debug, info, warn or error"`
	LogFormat   string `default:"auto" enum:"auto,tint,json" help:"tint for people, json for programs, auto by whether stderr is a terminal"`
	LogMessages bool   `help:"Write each message with its content"`
	MessageLog  string `placeholder:"FILE" help:"Append each message with its content to a file, as a line of its own: MCP_MESSAGE_SENT: {…}; - is stdout"`

	MessageLogSize size          `default:"64MiB" help:"Size at which that file is rotated, in whole MiB"`
	MessageLogKeep time.Duration `default:"2160h" type:"positive" help:"How long its lines are kept at least, in whole days"`

	Mask     []string `sep:"none" placeholder:"NAME" help:"Further members of payloads whose values nobody is shown, by name or by path, such as card.number, one a flag; password, token, api_key and their like always are"`
	Unmasked bool     `name:"unmasked" help:"Write the messages of --log-messages and --message-log as they are, with their secrets"`

	Audit     string        `placeholder:"FILE" help:"Append the audit trail to a file, as JSON lines without contents: who asked what of whom, and how it ended"`
	AuditSize size          `default:"64MiB" help:"Size at which that file is rotated, in whole MiB"`
	AuditKeep time.Duration `default:"2160h" type:"positive" help:"How long its lines are kept at least, in whole days"`
}

// rule is a rule of a combination of flags.
type rule struct {
	broken bool
	text   string // the fault, and an advice
}

// firstBroken returns the error of the first rule that is broken.
func firstBroken(rules ...rule) error {
	for _, r := range rules {
		if r.broken {
			return usagef("%s", r.text)
		}
	}
	return nil
}

// addresses returns the flags of the listeners with their values.
func (f *listenFlags) addresses() [][2]string {
	all := [][2]string{{"--ws", f.WS}, {"--tcp", f.TCP}, {"--grpc", f.GRPC}, {"--http", f.HTTP}}
	return slices.DeleteFunc(all, func(a [2]string) bool { return a[1] == "" })
}

// check returns an error for flags that contradict each other.
func (c *nodeCmd) check(known runtime.Swarms) error {
	addresses := c.addresses()
	if len(addresses) == 0 {
		return usagef("no listener; give the node an address to be reached at, such as --tcp 127.0.0.1:8444")
	}
	for _, a := range addresses {
		if err := checkAddress(a[0], a[1]); err != nil {
			return err
		}
	}
	_, bridge := c.bridgeFlags.plan(c.MaxFrame)
	return cmp.Or(c.checkAuth(addresses), c.clusterFlags.check(c), c.otlpFlags.check(), bridge, firstBroken(
		rule{c.HTTP == "" && (c.RecordConversations != observe.DefaultConversations || c.RecordBytes != observe.DefaultBytes), "--record-conversations and --record-bytes are about what --http serves; add it, such as --http 127.0.0.1:8080"},
		rule{c.Approvals != "" && c.HTTP == "", fmt.Sprintf("--approvals %.40q: operators decide by --http; add it, such as --http 127.0.0.1:8080", c.Approvals)},
		rule{c.Pace > 0 && c.Swarm != swarm.Name, fmt.Sprintf("--pace %v: it is the time of the steps of the swarm eddyjules; leave it out, or add --swarm eddyjules", c.Pace)},
		rule{c.CodeRoot != "" && c.Swarm != swarm.Name, fmt.Sprintf("--code-root %s: it is for the code of the swarm eddyjules; leave it out, or add --swarm eddyjules", shown(c.CodeRoot))},
		rule{c.CodeRoot != "" && !isFolder(c.CodeRoot), fmt.Sprintf("--code-root %s: there is no such folder", shown(c.CodeRoot))},
		rule{c.Docs != "" && c.Swarm != ragswarm.Name, fmt.Sprintf("--docs %s: it is the folder of the swarm rag; leave it out, or add --swarm rag", shown(c.Docs))},
		rule{c.Docs != "" && !isFolder(c.Docs), fmt.Sprintf("--docs %s: there is no such folder", shown(c.Docs))},
		rule{slices.Contains(c.Operators, ""), "--operators has an empty name; give names such as ops, or * for everyone who may connect"},
		rule{badOrigin(c.WSOrigin) != "", fmt.Sprintf("--ws-origin %s: want a scheme and a host, such as https://example.org, or *", badOrigin(c.WSOrigin))},
		rule{c.WSPath == "" || c.WSPath[0] != '/', fmt.Sprintf("--ws-path %s: want a path that begins with a slash, such as /mcp", c.WSPath)},
		rule{c.MaxPerHost < 0, fmt.Sprintf("--max-per-host %d lets nobody in; want a number above 0, or 0 for a quarter of --max-connections", c.MaxPerHost)},
		rule{c.AuditSize%(1<<20) != 0, "--audit-size: want whole MiB, such as 64MiB"},
		rule{c.MessageLogSize%(1<<20) != 0, "--message-log-size: want whole MiB, such as 64MiB"},
		rule{c.PingTimeout > 0 && c.PingInterval >= c.PingTimeout, fmt.Sprintf("--ping-timeout %v is not longer than --ping-interval %v, so that no peer had time to answer; make it longer", c.PingTimeout, c.PingInterval)},
	), c.checkSwarm(known))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// checkAddress returns an error for an address that no listener can have. A port may also be
// the name of a service.
func checkAddress(flag, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil && strings.Count(addr, ":") > 1:
		return usagef("%s %s: want a host and a port, with an IPv6 address in brackets, such as [::1]:8444", flag, shown(addr))
	case err != nil, port == "":
		return usagef("%s %s: want a host and a port, such as 127.0.0.1:8444", flag, shown(addr))
	case !isHost(host) && host != "":
		return usagef("%s %s: the host is no IP address, and no name either", flag, shown(addr))
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return usagef("%s %s: there is no such port; want one from 1 to 65535, or 0 for any that is free", flag, shown(addr))
	}
	return nil
}

// isHost reports whether a text is an IP address, without brackets, or may be the name of a
// machine.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || text != "" && !strings.ContainsAny(text, ":[]%/@ ")
}

// isLocal reports whether only this machine reaches a host.
func isLocal(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// badOrigin returns the first text that is no origin of a page (RFC 6454 §6), or nothing.
func badOrigin(origins []string) string {
	for _, o := range origins {
		if u, err := url.Parse(o); o != "*" && o != "null" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "") {
			return o
		}
	}
	return ""
}

func (c *nodeCmd) checkSwarm(known runtime.Swarms) error {
	if c.Swarm == noSwarm {
		return nil
	}
	if slices.Contains(known.Names(), c.Swarm) {
		if _, err := ragswarm.ModelFrom(os.Getenv); err != nil && c.Swarm == ragswarm.Name {
			return usagef("%v", err)
		}
		return nil
	}
	return usagef("--swarm %s: there is no such swarm; want one of %s", shown(c.Swarm), listOf(append(known.Names(), noSwarm)))
}

// operators returns the principals of --operators.
func (c *nodeCmd) operators() (ids []performatives.AgentID) {
	for _, name := range c.Operators {
		ids = append(ids, performatives.AgentID(name))
	}
	return ids
}

// checkAuth returns an error unless a flag selects the authentication, or turns it off.
func (c *nodeCmd) checkAuth(addresses [][2]string) error {
	some := c.authenticates()
	jwt := c.JWTKey != "" || c.JWKSURL != ""
	if err := firstBroken(
		rule{c.NoAuth && some, "--no-auth lets everyone in, and other flags say who may; leave one or the other"},
		rule{!c.NoAuth && !some && !c.readOnly(), "nothing says who may connect; give --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca, or --no-auth on a loopback address"},
		rule{c.Discovery && !some, "--public-discovery is about peers without a token, and nothing here needs one; leave it out"},
		rule{c.JWTKey != "" && c.JWKSURL != "", "--jwt-key and --jwks-url both say where the keys are; leave one"},
		rule{!jwt && (len(c.JWTAlg) > 0 || c.JWTIssuer != "" || c.JWTAudience != ""), "--jwt-alg, --jwt-issuer and --jwt-audience are about tokens that nothing checks; add --jwt-key or --jwks-url"},
		rule{(c.Introspect == "") != (c.IntroClient == "") || (c.Introspect == "") != (c.IntroSecret == "") || c.Introspect == "" && c.IntroAud != "", "--introspect-url, --introspect-client and --introspect-secret-file belong together; give all three"},
		rule{c.Introspect != "" && c.Tokens != "", "--tokens and --introspect-url both say which opaque tokens count; leave one"},
		rule{(c.TLSCert == "") != (c.TLSKey == ""), "--tls-cert and --tls-key belong together; give both"},
		rule{c.ClientCA != "" && c.TLSCert == "", "--client-ca needs TLS; add --tls-cert and --tls-key"},
		rule{c.ClientAgent != "" && c.ClientCA == "", "--client-agent needs --client-ca, which says whose certificates count"},
		rule{c.RequireClientCert && c.ClientCA == "", "--require-client-cert needs --client-ca, which says whose certificates count"},
	); err != nil {
		return err
	}
	switch {
	case c.NoAuth:
		return onLoopback(addresses, "--no-auth would let everyone in who reaches %s %s")
	case c.readOnly():
		return c.checkReadOnly(addresses)
	}
	return nil
}

// authenticates reports whether a flag selects a way of authentication.
func (c *nodeCmd) authenticates() bool {
	return c.Tokens != "" || c.JWTKey != "" || c.JWKSURL != "" || c.ClientCA != "" || c.Introspect != ""
}

// readOnly reports whether --http serves everyone on this machine, without the right to act: it is
// the only listener, and no flag selects a way of authentication or turns it off.
func (c *nodeCmd) readOnly() bool {
	return !c.NoAuth && !c.authenticates() && c.HTTP != "" && len(c.addresses()) == 1
}

// readers returns the text behind the printed address of the operator's interface: the readers
// without authentication, and that they see examples.
func (c *nodeCmd) readers() string {
	switch {
	case c.demonstrates():
		return " (read-only, everyone on this machine; the swarm gets example tasks)"
	case c.readOnly():
		return " (read-only, everyone on this machine)"
	}
	return ""
}

// checkReadOnly returns an error for flags about acting, which would have no effect, and for an
// address that another machine could reach.
func (c *nodeCmd) checkReadOnly(addresses [][2]string) error {
	const nobody = "without a flag that says who may connect, nobody may do more than read by --http; add --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca"
	if err := firstBroken(
		rule{c.Approvals != "", fmt.Sprintf("--approvals %.40q: "+nobody+", or --no-auth, which lets everyone on this machine decide", c.Approvals)},
		rule{len(c.Operators) > 0, "--operators: " + nobody + ", or --no-auth, which lets everyone on this machine act"},
		rule{c.Rules != "", "--rules: " + nobody},
	); err != nil {
		return err
	}
	return onLoopback(addresses, "without a flag that says who may connect, everyone who reaches %s %s may read")
}

// onLoopback returns an error for an address that another machine could reach. risk is the
// beginning of its text: a format for a flag and its value.
func onLoopback(addresses [][2]string, risk string) error {
	for _, a := range addresses {
		host, port, _ := net.SplitHostPort(a[1])
		if !isLocal(host) {
			return usagef(risk+"; use 127.0.0.1:%s, or say who may connect with --tokens, --jwt-key, --jwks-url, --introspect-url or --client-ca", a[0], a[1], port)
		}
	}
	return nil
}
