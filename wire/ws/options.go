package ws

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// DefaultPath is the default path of connections (wire specification, Connection
// Establishment).
const DefaultPath = "/mcp"

// Options configures a server's end. The zero value is valid for [Handler]; [Listen] requires
// Addr. Limits and logger are those of the server.
type Options struct {
	// Addr is the address that [Listen] listens on, as host:port. Port 0 selects a free port.
	Addr string
	// Path is the path of connections. Requests for other paths get 404. A path that ends in
	// a slash includes all paths below it. Empty means DefaultPath.
	Path string
	// AgentPath is a further path of connections. It ends in a slash, such as /ws/, and one segment
	// follows it: the id of the agent behind the connection, which [wire.CodecOptions].Path passes
	// on to the dialect. A token in the header Authorization that does not cover the agent is
	// refused as forbidden. Empty means none.
	AgentPath string
	// Posts is the dialect of clients without WebSocket: [RequestPath] takes one message by POST,
	// as application/json, and answers 202 with its id and the token of a stream; [EventsPath] with
	// the parameter stream streams the answers to all that was posted with that token (addenda §9).
	// A stream is a session, which ends when nobody has read it for a minute. Nil means none.
	Posts wire.Dialect
	// TLS encrypts the connections of Listen. It must have a certificate. Versions below TLS
	// 1.2 and TLS 1.2 cipher suites without forward secrecy or authenticated encryption are
	// removed from it. With ClientAuth and ClientCAs, peers can authenticate by certificate.
	// Nil means no encryption.
	TLS *tls.Config
	// Origins are the origins whose pages may connect, such as https://example.com; * stands
	// for all. Empty means the server's own host. A request without an Origin header is
	// always allowed, because browsers send one.
	Origins []string
	// Compression accepts permessage-deflate (RFC 7692) when the client offers it.
	Compression bool
	// LateAuth accepts connections without credentials, because browsers cannot send any with
	// the handshake. The first message must then carry credentials. Invalid credentials in
	// the handshake are refused nevertheless.
	LateAuth bool
}

func (o Options) validate() error {
	if !strings.HasPrefix(o.Path, "/") {
		return fmt.Errorf("ws: Options.Path is %q: want a path that begins with /", o.Path)
	}
	if a := o.AgentPath; a != "" && (!strings.HasPrefix(a, "/") || !strings.HasSuffix(a, "/")) {
		return fmt.Errorf("ws: Options.AgentPath is %q: want a path that begins and ends with /", a)
	}
	for i, origin := range o.Origins {
		if err := validOrigin(origin); err != nil {
			return fmt.Errorf("ws: Options.Origins[%d] is %q: %w", i, origin, err)
		}
	}
	if o.TLS != nil && !sockets.HasCertificate(o.TLS) {
		return errors.New("ws: Options.TLS has no certificate")
	}
	return nil
}

func validOrigin(origin string) error {
	if origin == "*" || origin == "null" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
		return errors.New("want a scheme and a host such as https://example.com, or *")
	}
	return nil
}

// agentOf returns the id of the agent that a path below AgentPath names, and "" for any other path.
func (o Options) agentOf(path string) performatives.AgentID {
	agent, ok := strings.CutPrefix(path, o.AgentPath)
	if !ok || o.AgentPath == "" || strings.Contains(agent, "/") {
		return ""
	}
	return performatives.AgentID(agent)
}

// servesPath reports whether connections are accepted at path.
func (o Options) servesPath(path string) bool {
	if o.agentOf(path) != "" {
		return true
	}
	if strings.HasSuffix(o.Path, "/") {
		return strings.HasPrefix(path, o.Path)
	}
	return path == o.Path
}

// allowsOrigin reports whether a page of origin may connect to host.
func (o Options) allowsOrigin(origin, host string) bool {
	if len(o.Origins) == 0 {
		u, err := url.Parse(origin)
		return err == nil && strings.EqualFold(u.Host, host)
	}
	return slices.ContainsFunc(o.Origins, func(allowed string) bool { return allowed == "*" || strings.EqualFold(allowed, origin) })
}
