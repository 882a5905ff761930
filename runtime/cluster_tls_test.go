package runtime_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// authority signs the certificates of nodes.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key = a.sign("authority", nil)
	return a
}

// sign makes a certificate with a DNS name; the first one is the authority's own.
func (a *authority) sign(name string, dns []string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: dns,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, key
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	return c, key
}

// config is the TLS configuration of the node of that name.
func (a *authority) config(node string) *tls.Config {
	cert, key := a.sign(node, []string{node})
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		RootCAs:      roots, ClientCAs: roots, MinVersion: tls.VersionTLS13,
	}
}

// Nodes with keys and certificates reach one another. One whose certificate is for another name
// gets no link, so that nobody delegates to it, and one without the key is no member.
func TestSecuredCluster(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	a := newAuthority(t)
	key := []byte("0123456789abcdef0123456789abcdef")
	var out buffer // the log of n1
	node := func(name, certificate string, keys [][]byte, join ...string) *runtime.Node {
		var log *slog.Logger
		if name == "n1" {
			log = runtime.NewLogger(&out, slog.LevelInfo)
		}
		return newNode(t, runtime.Options{Name: name, Logger: log, Cluster: &runtime.ClusterOptions{
			Gossip: "127.0.0.1:0", Join: join, JoinTime: time.Second, Keys: keys, TLS: a.config(certificate), LinkTimeout: time.Second, Profile: membership.WAN,
		}})
	}
	n1 := node("n1", "n1", [][]byte{key})
	at := n1.Members()[0].Gossip
	links, lost := listen(t, n1, runtime.KindMemberLinked), listen(t, n1, runtime.KindMemberLost)
	n2 := node("n2", "n2", [][]byte{key}, at)
	spawn(t, n2, "Rev", func() actors.Agent { return colleague{} })
	knows(t, n1, "Rev", "n2")
	eventually(t, n1, func() error { // the link may break for a while
		_, err := n1.Delegate(patience.Context(t), "Rev", p.TaskRequest{TaskType: "review"})
		return err
	})

	n3 := node("n3", "mallory", [][]byte{key}, at)
	spawn(t, n3, "Spy", func() actors.Agent { return colleague{} })
	eventually(t, n1, func() error {
		if _, ok := n1.Directory().Lookup("Spy"); !ok {
			return errors.New("the directory does not have Spy yet")
		}
		return nil
	})
	if _, err := n1.Delegate(patience.Context(t), "Spy", p.TaskRequest{TaskType: "review"}); !errors.Is(err, p.CodeDisconnected) && !errors.Is(err, p.CodeStopped) ||
		!regexp.MustCompile("the node n3 (of the agent )?cannot be reached").MatchString(err.Error()) { // though it is a member
		t.Errorf("to a node with the certificate of another: %v", err)
	}
	ofN3 := func(e runtime.MemberLost) bool { return e.Node == "n3" } // on a busy machine, also the link to n2 may break for a while
	if e := await(t, lost, 2, ofN3); e[0].Reason != "unreachable" {
		t.Errorf("lost: %+v", e[0])
	}
	if n := strings.Count(out.text(), `"msg":"a node is lost","node":"n1","peer":"n3"`); n != 1 {
		t.Errorf("the log says %d times that n3 is lost:\n%s", n, out.text())
	}
	for _, e := range await[runtime.MemberLinked](t, links, 1, nil) {
		if e.Node != "n2" {
			t.Errorf("there is a link to %s", e.Node)
		}
	}

	// Of two nodes, the one whose name comes first opens the link: both know why it is refused.
	n0 := node("n0", "mallory", [][]byte{key}, at)
	says := func(n *runtime.Node, peer, reason string) {
		t.Helper()
		eventually(t, n, func() error {
			for of, why := range n.LinkStates() {
				if of.Name == peer && why != nil && strings.Contains(why.Error(), reason) {
					return nil
				}
			}
			return fmt.Errorf("%s says %v, want of %s %q", n.Name(), n.LinkStates(), peer, reason)
		})
	}
	says(n1, "n3", "certificate is valid for mallory, not n3")
	says(n1, "n0", `is for ["mallory"], not for the node n0`)
	says(n0, "n1", `has closed the link: grpc: the certificate of`)

	n4 := node("n4", "n4", [][]byte{[]byte("another key 4567")}, at)
	if got := len(n4.Members()); got != 1 {
		t.Errorf("without the key a node knows %d members", got)
	}
	for _, m := range n1.Members() {
		if m.Name == "n4" {
			t.Error("a node without the key is a member")
		}
	}
}

// The keys of the gossip are changed while the nodes run.
func TestChangeOfGossipKeys(t *testing.T) {
	t.Parallel() // it waits for gossip, mostly
	before, after := []byte("0123456789abcdef"), []byte("fedcba9876543210")
	node := func(name string, key []byte, join ...string) *runtime.Node {
		return newNode(t, runtime.Options{Name: name, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join, Keys: [][]byte{key}}})
	}
	n1 := node("n1", before)
	at := n1.Members()[0].Gossip
	nodes := []*runtime.Node{n1, node("n2", before, at)}
	for _, change := range []func(*membership.Keys) error{
		func(k *membership.Keys) error { return k.Add(after) },
		func(k *membership.Keys) error { return k.Use(after) },
		func(k *membership.Keys) error { return k.Remove(before) },
	} {
		for _, n := range nodes {
			if err := change(n.GossipKeys()); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodes = append(nodes, node("n3", after, at))
	for _, n := range nodes {
		eventually(t, n, func() error {
			if got := len(n.Members()); got != 3 {
				return fmt.Errorf("%s knows %d members", n.Name(), got)
			}
			return nil
		})
	}
	if newNode(t, runtime.Options{}).GossipKeys() != nil {
		t.Error("a node without a cluster has keys")
	}
}
