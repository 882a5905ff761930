package ws

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// DefaultPath is where a server takes connections (wire, Connection Establishment).
const DefaultPath = "/mcp"

// Options configures the server's end. The zero value is for [Handler], and takes
// connections at [DefaultPath]; [Listen] needs an Addr. The limits and the logger are the
// server's.
type Options struct {
	// Addr is what [Listen] listens on: host:port. Port 0 means any that is free.
	Addr string
	// Path is where connections are taken; anywhere else is nothing. One that ends in a
	// slash stands for all below it. Empty means DefaultPath.
	Path string
	// TLS encrypts the connections of Listen. It needs a certificate. What it allows below
	// TLS 1.2, and ciphers of TLS 1.2 without forward secrecy or authenticated encryption,
	// are left out. With ClientAuth and ClientCAs, a peer is known by its certificate. Nil
	// means no encryption.
	TLS *tls.Config
	// Origins are the sites whose pages may connect, such as https://example.com; * stands
	// for all. Empty means those of the server's own host. Who names no origin is no page.
	Origins []string
	// Compression accepts permessage-deflate (RFC 7692) from who offers it.
	Compression bool
	// LateAuth lets in who shows no credentials as it connects, as browsers cannot; it has
	// to by its first message. Bad credentials are refused all the same.
	LateAuth bool
}

func (o Options) withDefaults() Options {
	if o.Path == "" {
		o.Path = DefaultPath
	}
	return o
}

func (o Options) validate() error {
	if !strings.HasPrefix(o.Path, "/") {
		return fmt.Errorf("ws: Options.Path is %q: want a path that begins with /", o.Path)
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

// serves reports whether connections are taken at path.
func (o Options) serves(path string) bool {
	if strings.HasSuffix(o.Path, "/") {
		return strings.HasPrefix(path, o.Path)
	}
	return path == o.Path
}

// welcomes reports whether a page of that origin may connect to that host.
func (o Options) welcomes(origin, host string) bool {
	if len(o.Origins) == 0 {
		u, err := url.Parse(origin)
		return err == nil && strings.EqualFold(u.Host, host)
	}
	for _, allowed := range o.Origins {
		if allowed == "*" || strings.EqualFold(allowed, origin) {
			return true
		}
	}
	return false
}
