package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// pki holds the files of a server and a client, and their authority.
type pki struct {
	dir    string
	ca     *authority
	server Files
	client Files
}

func (p *pki) write(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

func newPKI(t testing.TB) *pki {
	t.Helper()
	p := &pki{dir: t.TempDir(), ca: newAuthority(t)}
	roots := p.write(t, "ca.pem", p.ca.pem)
	p.issueServer(t, 10)
	cert, key := p.ca.issue(t, 20, func(c *x509.Certificate) { c.Subject.CommonName = "crm" })
	p.server = Files{Cert: p.dir + "/server.pem", Key: p.dir + "/server.key", ClientCA: roots}
	p.client = Files{Cert: p.write(t, "client.pem", cert), Key: p.write(t, "client.key", key), RootCA: roots, ServerName: "node.example.org"}
	return p
}

func (p *pki) issueServer(t testing.TB, serial int64) {
	t.Helper()
	cert, key := p.ca.issue(t, serial, func(c *x509.Certificate) { c.DNSNames = []string{"node.example.org"} })
	p.write(t, "server.pem", cert)
	p.write(t, "server.key", key)
}

// dial returns the ends of a TCP connection, whose buffers can hold an unread TLS alert.
func dial(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = l.Close() }()
	b = must(net.Dial("tcp", l.Addr().String()))
	return must(l.Accept()), b
}

// handshake performs the handshake, and returns the connection state of each end.
func handshake(t *testing.T, a, b net.Conn, server, client *tls.Config) (ofServer, ofClient tls.ConnectionState, err error) {
	t.Helper()
	s, c := tls.Server(a, server), tls.Client(b, client)
	failed := make(chan error, 1)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		_ = a.Close()
		failed <- err
	}()
	errC := c.Handshake()
	if errC == nil {
		_, errC = c.Read(make([]byte, 1)) // in TLS 1.3 a client learns of its refusal by its first read
	}
	_ = b.Close()
	return s.ConnectionState(), c.ConnectionState(), errors.Join(errC, <-failed)
}

func TestTLS(t *testing.T) {
	p := newPKI(t)
	required, plain := p.server, p.client
	required.RequireClientCert = true
	plain.Cert, plain.Key = "", ""
	other := newPKI(t)
	stranger := other.client
	stranger.RootCA = p.client.RootCA
	elsewhere := p.client
	elsewhere.ServerName = "other.example.org"
	for name, tt := range map[string]struct {
		server, client Files
		good, chain    bool
	}{
		"both certificates":          {required, p.client, true, true},
		"asked for and not required": {p.server, plain, true, false},
		"given":                      {p.server, p.client, true, true},
		"required and missing":       {required, plain, false, false},
		"of another authority":       {p.server, stranger, false, false},
		"another server's":           {p.server, elsewhere, false, false},
		"not asked for":              {Files{Cert: p.server.Cert, Key: p.server.Key}, p.client, true, false},
		"an unknown server":          {other.server, plain, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := dial(t)
			server, _, err := handshake(t, a, b, must(ServerTLS(tt.server)), must(ClientTLS(tt.client)))
			if (err == nil) != tt.good || (err == nil && (len(sockets.Verified(server)) == 2) != tt.chain) {
				t.Errorf("%v, a chain of %d", err, len(sockets.Verified(server)))
			}
		})
	}
}

func TestTLSVersionsAndSuites(t *testing.T) {
	p := newPKI(t)
	for name, tt := range map[string]struct {
		change func(*tls.Config)
		good   bool
	}{
		"1.3": {func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, true},
		"1.2": {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, true},
		"1.1": {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, false},
		"weak one": {func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := must(ClientTLS(p.client))
			tt.change(client)
			a, b := dial(t)
			if _, _, err := handshake(t, a, b, must(ServerTLS(p.server)), client); (err == nil) != tt.good {
				t.Error(err)
			}
		})
	}
	if s, c := must(ServerTLS(p.server)), must(ClientTLS(p.client)); s.MinVersion != tls.VersionTLS12 || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("versions %x and %x, want 1.2 at least", s.MinVersion, c.MinVersion)
	}
	weak := make(map[uint16]bool)
	for _, s := range tls.InsecureCipherSuites() {
		weak[s.ID] = true
	}
	suites := must(ServerTLS(p.server)).CipherSuites
	for _, s := range suites {
		if weak[s] {
			t.Errorf("%s is insecure", tls.CipherSuiteName(s))
		}
	}
	if len(suites) == 0 {
		t.Error("the cipher suites are not restricted")
	}
}

// A node is the server of one connection and the client of another, by the same files.
func TestNodeTLS(t *testing.T) {
	p := newPKI(t)
	p.server.RequireClientCert = true
	node := must(NodeTLS(p.server))
	client := node.Clone()
	client.ServerName = "node.example.org"
	a, b := dial(t)
	server, _, err := handshake(t, a, b, node, client)
	if err != nil || len(sockets.Verified(server)) != 2 {
		t.Errorf("%v, a chain of %d", err, len(sockets.Verified(server)))
	}
}

func TestTLSReload(t *testing.T) {
	p := newPKI(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(p.ca.cert.NotBefore) + 90*time.Minute) // the clock of a synctest bubble starts before the certificate is valid
		var failures []error
		p.server.Failed = func(err error) { failures = append(failures, err) }
		server, client := must(ServerTLS(p.server)), must(ClientTLS(p.client))
		serial := func() int64 {
			t.Helper()
			a, b := net.Pipe()
			_, c, err := handshake(t, a, b, server, client)
			if err != nil {
				t.Fatal(err)
			}
			return c.PeerCertificates[0].SerialNumber.Int64()
		}
		expect := func(want int64, told int) {
			t.Helper()
			time.Sleep(recheck)
			if got := serial(); got != want || len(failures) != told {
				t.Errorf("certificate %d, want %d; reported %v, want %d errors", got, want, failures, told)
			}
		}
		expect(10, 0)
		p.issueServer(t, 11)
		expect(11, 0)
		p.write(t, "server.key", privatePEM(rsaKey())) // its certificate is written later
		expect(11, 1)
		expect(11, 2) // the old certificate remains
		if !strings.Contains(failures[0].Error(), p.server.Key) || strings.Contains(failures[0].Error(), "BEGIN") {
			t.Errorf("%v, want the names of the files", failures[0])
		}
		if err := os.Remove(p.server.Cert); err != nil {
			t.Fatal(err)
		}
		expect(11, 3)
		p.issueServer(t, 12)
		expect(12, 3)
	})
}

func TestTLSFiles(t *testing.T) {
	p := newPKI(t)
	garbage := p.write(t, "garbage", []byte("hunter2"))
	change := func(f Files, do func(*Files)) Files { do(&f); return f }
	for want, f := range map[string]Files{
		"needs Cert and Key": {},
		"a server needs":     {Cert: p.server.Cert},
		"want ClientCA":      {Cert: p.server.Cert, Key: p.server.Key, RequireClientCert: true},
		"are for clients":    change(p.server, func(f *Files) { f.ServerName = "a" }),
		"missing":            change(p.server, func(f *Files) { f.Key = p.dir + "/missing" }),
		"garbage and":        change(p.server, func(f *Files) { f.Cert = garbage }),
		"no certificate in":  change(p.server, func(f *Files) { f.ClientCA = garbage }),
	} {
		if _, err := ServerTLS(f); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	for want, f := range map[string]Files{
		"both of Cert and Key": {Cert: p.client.Cert},
		"are for servers":      {ClientCA: garbage},
		"no certificate in":    {RootCA: garbage},
		"missing":              {RootCA: p.dir + "/missing"},
		"and":                  change(p.client, func(f *Files) { f.Key = garbage }),
	} {
		if _, err := ClientTLS(f); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	for want, f := range map[string]Files{
		"auth: Files: a node needs ClientCA":          {Cert: p.server.Cert, Key: p.server.Key},
		"auth: Files: a server needs Cert and Key":    {ClientCA: p.server.ClientCA},
		"auth: " + garbage + ": no certificate in it": change(p.server, func(f *Files) { f.ClientCA = garbage }),
	} {
		if c, err := NodeTLS(f); c != nil || err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ClientTLS(Files{}); err != nil {
		t.Errorf("a client without files: %v", err)
	}
}
