package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/grpc"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// address is the address of a node.
type address struct {
	transport string // ws, tcp or grpc
	secure    bool
	host      string // and port
	url       string // scheme, host and path: never a user, a password or a query
	path      string // of ws
}

const addressHint = "such as tcp://127.0.0.1:8444; ws, wss, tcp, tcps, grpc and grpcs are known, and the http or https of --http"

// tokenFlags has the flag for the token of the node at the address of a flag.
var tokenFlags = map[string]string{"--addr": "--token-file", "--bridge": "--bridge-token-file"}

// parseAddress reads the URL of a node, which the flag gives.
func parseAddress(flag, text string) (address, error) {
	if text == "" {
		return address{}, usagef("no address; say where the node is with %s, %s", flag, addressHint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return address{}, usagef("%s is no address; want one %s", flag, addressHint)
	}
	a := address{transport: strings.TrimSuffix(u.Scheme, "s"), host: u.Host, path: u.Path}
	a.secure = a.transport != u.Scheme
	if a.transport == "w" { // ws ends with an s
		a.transport, a.secure = "ws", false
	}
	switch {
	case a.transport != "ws" && a.transport != "tcp" && a.transport != "grpc":
		return a, usagef("%s: there is no transport %.16q; want an address %s", flag, u.Scheme, addressHint)
	case u.User != nil:
		return a, usagef("%s has a name or a password in it; give a token with %s instead", flag, tokenFlags[flag])
	case a.transport != "ws" && strings.Trim(u.Path, "/") != "", u.RawQuery != "", u.Fragment != "":
		return a, usagef("%s says more than where the node is; want an address %s", flag, addressHint)
	}
	err = a.complete(flag, u)
	return a, err
}

// complete fills in the parts that an address may leave out.
func (a *address) complete(flag string, u *url.URL) error {
	switch {
	case u.Port() != "":
	case a.transport != "ws":
		return usagef("%s %s://%s lacks the port; want an address %s", flag, u.Scheme, u.Host, addressHint)
	case a.secure:
		a.host = net.JoinHostPort(u.Hostname(), "443")
	default:
		a.host = net.JoinHostPort(u.Hostname(), "80")
	}
	switch {
	case a.transport != "ws":
		a.path = ""
	case strings.Trim(a.path, "/") == "":
		a.path = "/mcp"
	}
	a.url = u.Scheme + "://" + a.host + a.path
	return nil
}

// dial opens a session with the node.
func (l *link) dial(ctx context.Context, h wire.Handler) (*wire.Session, error) {
	o := wire.Options{Handler: hearing{h, &l.worked}, Dialects: []wire.Dialect{acl.Dialect{}}, Limits: l.limits}
	conn, err := l.connect(ctx, &o)
	if err != nil {
		return nil, err
	}
	s, err := wire.Connect(conn, o)
	if err == nil {
		l.session.Store(s)
	}
	return s, err
}

// hearing is a [wire.Handler] that records that a message has arrived.
type hearing struct {
	wire.Handler
	worked *atomic.Bool
}

// Receive implements [wire.Handler].
func (h hearing) Receive(s *wire.Session, m *performatives.Message) error {
	h.worked.Store(true)
	return h.Handler.Receive(s, m)
}

// connect opens a connection. TCP has no place for a token, so that each message has the
// token.
func (l *link) connect(ctx context.Context, o *wire.Options) (wire.Conn, error) {
	if err := firstToken(ctx, l.issuer); err != nil {
		return nil, err
	}
	token := ""
	if l.token != nil {
		token = l.token()
	}
	switch l.at.transport {
	case "ws":
		return ws.Dial(ctx, l.at.url, ws.DialOptions{TLS: l.tls, Token: token, Limits: l.limits})
	case "grpc":
		return grpc.Dial(ctx, l.at.url, grpc.DialOptions{TLS: l.tls, Token: token, Limits: l.limits})
	}
	o.Token = l.token
	return tcp.Dial(ctx, l.at.url, tcp.DialOptions{TLS: l.tls, Limits: l.limits})
}

// config returns the TLS configuration of a client; nil for none. failed is called when a changed
// certificate cannot be loaded; it may be nil.
func (f *credentialFlags) config(a address, failed func(error)) (*tls.Config, error) {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, usagef("--cert and --key belong together; give both")
	case !a.secure && (f.CA != "" || f.Cert != ""):
		return nil, usagef("--ca, --cert and --key are about TLS, and %s is without; use %ss://", a.url, a.transport)
	case !a.secure:
		return nil, nil //nolint:nilnil // no TLS
	}
	if err := readable("--ca", f.CA, "--cert", f.Cert, "--key", f.Key); err != nil {
		return nil, err
	}
	config, err := auth.ClientTLS(auth.Files{RootCA: f.CA, Cert: f.Cert, Key: f.Key, Failed: failed})
	if err != nil {
		return nil, usagef("TLS: %s; check --ca, --cert and --key", reason(err))
	}
	return config, nil
}

// mismatch returns the reason of a failed TLS handshake; nothing for another error. gRPC
// transmits only the text of some errors.
func mismatch(err error, a address) string {
	said := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case is[x509.UnknownAuthorityError](err), said("certificate signed by unknown authority"):
		return "nobody that is trusted has signed its certificate; name the authority with --ca"
	case is[x509.HostnameError](err), said("certificate is valid for"), said("certificate is not valid for any names"):
		return "its certificate is for another host; use a name in --addr that the certificate has"
	case is[x509.CertificateInvalidError](err), said("certificate has expired"):
		return "its certificate has expired, or is not for this use; have the node use another"
	case is[tls.RecordHeaderError](err), said("first record does not look like a TLS handshake"):
		return "it does not speak TLS there; use " + a.transport + ":// if that is right"
	case is[tls.AlertError](err), said("remote error: tls: "):
		return "it refused the TLS handshake; it may want a client certificate, see --cert and --key"
	}
	return ""
}

// listFlags are the flags of commands that print a list.
type listFlags struct {
	JSON     bool          `name:"json" help:"Print one JSON array"`
	Deadline time.Duration `default:"10s" type:"positive" help:"How long the node may take"`
}

// print prints a list, of which the rows are the table for people.
func (f *listFlags) print(std streams, all any, rows [][]string) error {
	out := newPrinter(std.out)
	if f.JSON {
		out.json(all)
	} else {
		out.text(table(rows))
	}
	return out.end()
}

// clientFlags has the address of the node and the credentials of the client.
type clientFlags struct {
	Addr    string `placeholder:"URL" help:"Address of the node: ws://, wss://, tcp://, tcps://, grpc:// or grpcs://, or the http:// or https:// that it serves by --http; with host and port"`
	As      string `placeholder:"NAME" help:"Name to speak under; without it, the subject of a token that is a JWT, or a random name"`
	Verbose bool   `short:"v" help:"Print on stderr the name that is used, and where it is from"`

	credentialFlags
	clientSealFlags

	MaxFrame size `default:"16MiB" help:"Longest frame"`

	OAuth oauthFlags `embed:""`
}

// credentialFlags has the credentials of a client, and what it expects of the node's.
type credentialFlags struct {
	Token     string `placeholder:"TOKEN" help:"Bearer token; better in the environment or a file, since others can see the flags of a process"`
	TokenFile string `placeholder:"FILE" help:"File with the bearer token"`
	CA        string `name:"ca" placeholder:"FILE" help:"Authorities in PEM that the certificate of the node is checked against; without it, those of the system"`
	Cert      string `placeholder:"FILE" help:"Client certificate in PEM"`
	Key       string `placeholder:"FILE" help:"Private key of the client certificate in PEM"`
}

// bearer returns the source of the token; nil for none. A file is read again when it changes;
// failed, which may be nil, is called when it cannot be read, and the token before stays in use.
func (f *credentialFlags) bearer(failed func(error)) (func() string, error) {
	switch {
	case f.Token != "" && f.TokenFile != "":
		return nil, usagef("there is a token from --token or %s, and --token-file names another; leave one", variable("token"))
	case f.Token != "":
		token := strings.TrimPrefix(f.Token, "Bearer ")
		return func() string { return token }, checkToken("--token", token)
	case f.TokenFile == "":
		return nil, nil //nolint:nilnil // without one
	}
	text, err := readFile("--token-file", f.TokenFile, maxSecret)
	if err != nil {
		return nil, err
	}
	if err := checkToken("--token-file "+f.TokenFile, strings.TrimSpace(string(text))); err != nil {
		return nil, err
	}
	source, err := auth.FileToken(f.TokenFile)
	if err != nil {
		return nil, usagef("--token-file %s: %s; write the token into it", f.TokenFile, reason(err))
	}
	return auth.Func(context.Background(), source, failed), nil
}

// checkToken returns an error for text that cannot be sent as a token. The error does not
// contain the text.
func checkToken(from, token string) error {
	switch {
	case token == "":
		return usagef("%s is empty; write the token into it", from)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return usagef("%s is no token: there are spaces or special characters in it; give the bare token", from)
	}
	return nil
}

// speaker returns the sender of the messages: the name of --as, or a random one.
func (f *clientFlags) speaker() (performatives.AgentID, error) {
	if f.As == "" {
		return performatives.AgentID("cli-" + strings.ToLower(rand.Text()[:8])), nil
	}
	switch {
	case !canSpeak(f.As):
		return "", usagef("--as %.40q is no name for an agent; want one without spaces around it, of at most %d bytes", f.As, performatives.MaxIDLength)
	case isNamespace(f.As):
		return "", usagef("--as %s stands for all agents of a node; choose another name", f.As)
	}
	return performatives.AgentID(f.As), nil
}

// listOf joins words with commas and a final or.
func listOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
