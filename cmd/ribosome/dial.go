package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"sync/atomic"

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
	if a.transport == "ws" && strings.Trim(a.path, "/") == "" {
		a.path = "/mcp"
	}
	if a.transport != "ws" {
		a.path = ""
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
