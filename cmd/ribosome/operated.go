package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// byHTTP reports whether --addr is the address of a node's operator's interface.
func (f *clientFlags) byHTTP() bool {
	return strings.HasPrefix(f.Addr, "http://") || strings.HasPrefix(f.Addr, "https://")
}

// operator returns the flags for the operator's interface.
func (f *clientFlags) operator() (*operatorFlags, error) {
	if f.OAuth.OAuthURL != "" {
		return nil, usagef("--oauth-url is for the other transports; give a token with --token-file instead")
	}
	return &operatorFlags{Addr: f.Addr, credentialFlags: f.credentialFlags}, nil
}

// view asks the operator's interface for a view.
func (f *clientFlags) view(ctx context.Context, list listFlags, path string, into any) error {
	flags, err := f.operator()
	if err != nil {
		return err
	}
	o, ctx, done, err := flags.begin(ctx, list.Deadline)
	if err != nil {
		return err
	}
	defer done()
	return o.ask(ctx, http.MethodGet, path, nil, nil, into)
}

// find asks the operator's interface at --addr where agents connect, and which name the token has.
func (l *link) find(ctx context.Context) (name performatives.AgentID, err error) {
	var session struct {
		As        string   `json:"as"`
		Listeners []string `json:"listeners"`
	}
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	defer l.operator.close()
	err = l.operator.ask(patient, http.MethodGet, "/api/session", nil, nil, &session)
	switch {
	case errors.Is(err, context.Canceled):
		return "", err
	case err != nil:
		return "", failf("%v", err)
	case len(session.Listeners) == 0:
		return "", failf("the node at %s has no listener for agents; start it with --ws, --tcp or --grpc", l.operator.at.url)
	}
	at, err := url.Parse(session.Listeners[0])
	if err != nil {
		return "", failf("the node at %s names the address %.60q, which cannot be read", l.operator.at.url, session.Listeners[0])
	}
	if ip := net.ParseIP(at.Hostname()); ip != nil && ip.IsUnspecified() { // that is any address of its machine
		host, _, _ := net.SplitHostPort(l.operator.at.host)
		at.Host = net.JoinHostPort(strings.Trim(cmp.Or(host, l.operator.at.host), "[]"), at.Port())
	}
	if l.at, err = parseAddress("--addr", at.String()); err != nil {
		return "", failf("the node at %s names an address for agents that is none: %v", l.operator.at.url, err)
	}
	if canSpeak(session.As) && !isNamespace(session.As) {
		name = performatives.AgentID(session.As)
	}
	return name, nil
}
