package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// clusterFlags has the settings of a node that is a member of a cluster.
type clusterFlags struct {
	Gossip    string   `placeholder:"ADDR" help:"Address of the membership, by TCP and UDP, such as 10.0.0.1:7946; it makes the node a member of a cluster, whose other nodes reach it there and at --grpc"`
	Join      []string `placeholder:"ADDR" help:"Members to join, such as 10.0.0.2:7946; a name is resolved again at each attempt"`
	Advertise string   `placeholder:"HOST" help:"Host by which other nodes reach this one; without it, those of --gossip and --grpc"`
	GossipKey string   `name:"gossip-key" placeholder:"FILE" help:"Keys of 16, 24 or 32 bytes that encrypt the gossip, in base64, one a line; the first encrypts, all decrypt"`
	Profile   string   `default:"lan" enum:"local,lan,wan" help:"Network between the nodes: local, lan or wan"`
	Label     []string `placeholder:"NAME=VALUE" help:"What other nodes are told of this one, such as zone=eu-1"`
}

// check returns an error for flags that contradict each other.
func (c *clusterFlags) check(n *nodeCmd) error {
	if c.Gossip == "" {
		if len(c.Join) > 0 || c.Advertise != "" || c.GossipKey != "" {
			return usagef("--join, --advertise and --gossip-key are about a cluster; add --gossip, such as --gossip 127.0.0.1:7946")
		}
		_, err := c.labels() // which are ignored: one file serves nodes with and without a cluster
		return err
	}
	if err := checkAddress("--gossip", c.Gossip); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(c.Gossip)
	ip := net.ParseIP(host)
	if within, ok := strings.CutPrefix(c.Advertise, "["); ok && strings.HasSuffix(within, "]") {
		c.Advertise = strings.TrimSuffix(within, "]")
	}
	if err := firstBroken(
		rule{c.Advertise != "" && (!isHost(c.Advertise) || net.ParseIP(c.Advertise).IsUnspecified()), fmt.Sprintf("--advertise %s: want the host alone by which other nodes reach this one, such as 10.0.0.1, 2001:db8::1 or n1.example.org", shown(c.Advertise))},
		rule{strings.Contains(host+c.Advertise, "%"), "--gossip and --advertise: members cannot use an address of IPv6 with a zone; give one without"},
		rule{n.GRPC == "", "--gossip needs --grpc, where other nodes reach the agents of this one"},
		rule{n.TLSCert != "" && n.ClientCA == "", "--gossip with --tls-cert needs --client-ca, the authorities that have signed the certificates of the nodes"},
		rule{c.Advertise == "" && (host == "" || ip != nil && ip.IsUnspecified()), fmt.Sprintf("--gossip %s is all addresses of this machine; say with --advertise which of them other nodes use", c.Gossip)},
		rule{c.GossipKey == "" && !isLocal(host), fmt.Sprintf("--gossip %s would let everyone in who reaches it; add --gossip-key, or use 127.0.0.1 or [::1]", c.Gossip)},
		rule{n.ClientCA == "" && !isLocal(host), fmt.Sprintf("--gossip %s: everyone who reaches --grpc could speak as another node; add --tls-cert, --tls-key and --client-ca, or use 127.0.0.1 or [::1]", c.Gossip)},
	); err != nil {
		return err
	}
	for _, addr := range c.Join {
		if err := checkAddress("--join", addr); err != nil {
			return err
		}
		if host, port, _ := net.SplitHostPort(addr); host == "" || port == "0" || strings.Contains(host, "%") {
			return usagef("--join %s: want the address of another node, with its port and without a zone", shown(addr))
		}
	}
	_, err := c.labels()
	return err
}

// labels returns the labels of the flags.
func (c *clusterFlags) labels() (map[string]string, error) {
	labels := make(map[string]string)
	for _, l := range c.Label {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			return nil, usagef("--label %s: want a name and a value, such as zone=eu-1", shown(l))
		}
		if name == httpLabel {
			return nil, usagef("--label %s: this label is set by --http", shown(l))
		}
		labels[name] = value
	}
	return labels, nil
}

// httpLabel is the label that tells other nodes the address of this one's operator's interface.
const httpLabel = "http"

// openOperators opens the socket of --http, whose address other nodes are told, and returns that
// address.
func (c *nodeCmd) openOperators(p *endpoint, secure bool) (url string, err error) {
	if p.operators, err = net.Listen("tcp", c.HTTP); err != nil {
		return "", notOpened("--http", c.HTTP, err)
	}
	host, port, err := net.SplitHostPort(p.operators.Addr().String())
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		gossip, _, _ := net.SplitHostPort(c.Gossip) // check has seen it
		host = cmp.Or(c.Advertise, gossip)
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// keys returns the keys of the file of --gossip-key.
func (c *clusterFlags) keys() ([][]byte, error) {
	if c.GossipKey == "" {
		return nil, nil
	}
	return parseFile("--gossip-key", c.GossipKey, parseKeys, "make one with openssl rand -base64 32")
}

func parseKeys(text []byte) (keys [][]byte, err error) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != 16 && len(key) != 24 && len(key) != 32 {
			return nil, errors.New("a line is no key of 16, 24 or 32 bytes in base64")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key in it")
	}
	return keys, nil
}

var profiles = map[string]membership.Profile{"local": membership.Local, "lan": membership.LAN, "wan": membership.WAN}

// clusterOptions opens the socket of --grpc, which the node needs to know before its sessions can
// be served, and returns the options of the cluster; nil without --gossip.
func (c *nodeCmd) clusterOptions(p *endpoint, config *tls.Config) (*runtime.ClusterOptions, error) {
	if c.Gossip == "" {
		return nil, nil //nolint:nilnil // the node is alone
	}
	labels, err := c.labels()
	if err != nil {
		return nil, err
	}
	keys, err := c.keys()
	if err != nil {
		return nil, err
	}
	if c.HTTP != "" {
		if labels[httpLabel], err = c.openOperators(p, config != nil); err != nil {
			return nil, err
		}
	}
	if p.socket, err = net.Listen("tcp", c.GRPC); err != nil {
		return nil, notOpened("--grpc", c.GRPC, err)
	}
	return &runtime.ClusterOptions{
		Gossip: c.Gossip, Advertise: c.Advertise, Join: c.Join, Keys: keys, Labels: labels, Profile: profiles[c.Profile], TLS: config,
		Links: p.socket.Addr().String(), Accept: func(serve func(*grpc.LinkStream)) { p.links = serve },
	}, nil
}

// bridgeFlags has the settings of the link to a node outside of the cluster.
type bridgeFlags struct {
	Bridge          string `placeholder:"URL" help:"Another node, to which this one connects by the bridge protocol, such as ws://10.0.0.2:8443/mcp: this one's agents are found there, and ids that are unknown here are there"`
	BridgeTokenFile string `placeholder:"FILE" help:"File with the token of this node there"`
}

// plan returns the link of the flags without a connection, or nil.
func (f *bridgeFlags) plan(frame size) (*link, error) {
	if f.Bridge == "" {
		if f.BridgeTokenFile != "" {
			return nil, usagef("--bridge-token-file is about --bridge; give both")
		}
		return nil, nil //nolint:nilnil // there is no link
	}
	at, err := parseAddress("--bridge", f.Bridge)
	if err != nil {
		return nil, err
	}
	if at.transport == "grpc" {
		return nil, usagef("--bridge %s: gRPC has one protocol; want a ws or tcp address", at.url)
	}
	l := &link{at: at, limits: wire.Limits{Frame: int(frame)}}
	if f.BridgeTokenFile != "" {
		text, err := readFile("--bridge-token-file", f.BridgeTokenFile, maxSecret)
		if err != nil {
			return nil, err
		}
		l.token = func() string { return strings.TrimSpace(string(text)) }
	}
	return l, nil
}

// bridge links the node to the one of --bridge, until ctx ends or the endpoint stops.
func (c *nodeCmd) bridge(ctx context.Context, p *endpoint) error {
	l, err := c.bridgeFlags.plan(c.MaxFrame)
	if l == nil || err != nil {
		return err
	}
	p.uplink, err = p.node.Uplink(runtime.UplinkOptions{Introduce: true, Dial: func(ctx context.Context, h wire.Handler) (*wire.Session, error) {
		o := wire.Options{Handler: h, Dialects: []wire.Dialect{bridge.Dialect{Node: c.Name}}, Limits: l.limits, Logger: p.log}
		conn, err := l.connect(ctx, &o)
		if err != nil {
			return nil, err
		}
		return wire.Connect(conn, o)
	}})
	if err != nil {
		return err
	}
	p.bridging.Go(func() { _ = p.uplink.Run(ctx) }) // it connects again until ctx ends
	return nil
}
