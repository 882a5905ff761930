package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// operatorGroup is the group of the flags of commands that use the operator's interface of a node.
const operatorGroup = "The operator's interface of the node:"

// operatorFlags has the address of the operator's interface of a node, and the credentials of the
// operator.
type operatorFlags struct {
	Addr string `placeholder:"URL" default:"http://127.0.0.1:8080" help:"Address that the node serves by --http: http:// or https://, with host and port"`

	credentialFlags
}

// operator is a client of the operator's interface.
type operator struct {
	at     address
	token  func() string // nil without a token
	client *http.Client
}

// longestAnswer is the longest answer that is read, in bytes: a page of conversations with their
// messages is shorter.
const longestAnswer = 256 << 20

// plan makes a client of the flags, without any connection.
func (f *operatorFlags) plan() (*operator, error) {
	u, err := url.Parse(f.Addr)
	switch {
	case err == nil && u.Host != "" && slices.Contains([]string{"ws", "wss", "tcp", "tcps", "grpc", "grpcs"}, u.Scheme):
		return nil, usagef("--addr is where agents connect, and this command is an operator's: give the address behind serving, which the node with --http prints when it starts, such as http://127.0.0.1:8080; all commands take it")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, usagef("--addr has to be the address that the node serves by --http, such as http://127.0.0.1:8080")
	case u.User != nil:
		return nil, usagef("--addr has a name or a password in it; give a token with --token-file instead")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, usagef("--addr says more than where the node is; want an address such as http://127.0.0.1:8080")
	}
	o := &operator{at: address{transport: "http", secure: u.Scheme == "https", host: u.Host, url: u.Scheme + "://" + u.Host}}
	config, err := f.config(o.at, nil)
	if err != nil {
		return nil, err
	}
	if o.token, err = f.bearer(nil); err != nil {
		return nil, err
	}
	o.client = &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this address
	}
	return o, nil
}

// close ends the connections.
func (o *operator) close() { o.client.CloseIdleConnections() }

// apiError is an error that the node answers.
type apiError struct {
	Code string `json:"code"`
	Text string `json:"text"`

	status int
}

func (e *apiError) Error() string { return e.Text }

// ask sends a request and decodes its answer.
func (o *operator) ask(ctx context.Context, method, path string, query url.Values, body, into any) error {
	answer, err := o.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer+1))
	switch {
	case err != nil:
		return o.explain(ctx, err)
	case len(text) > longestAnswer:
		return failf("the answer of %s is longer than %d bytes; ask for less", o.at.url, longestAnswer)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return failf("the answer of %s cannot be read: %v; use the version of ribosome that the node has", o.at.url, err)
	}
	return nil
}

// get asks for a view.
func get[T any](ctx context.Context, o *operator, path string, query url.Values) (view T, err error) {
	err = o.ask(ctx, http.MethodGet, path, query, nil, &view)
	return view, err
}

// view is get for a command that asks for one view only, and takes at most that long.
func view[T any](ctx context.Context, f *operatorFlags, deadline time.Duration, path string) (v T, err error) {
	o, ctx, done, err := f.begin(ctx, deadline)
	if err != nil {
		return v, err
	}
	defer done()
	return get[T](ctx, o, path, nil)
}

// parameters returns those of a query that are not empty.
func parameters(all map[string]string) url.Values {
	query := url.Values{}
	for name, value := range all {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// send sends a request. The error is that of the command: an answer other than 200 is one, too. The
// caller closes the body of the answer.
func (o *operator) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	at := o.at.url + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, at, content)
	if err != nil {
		return nil, usagef("--addr: %v", reason(err))
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if o.token != nil {
		r.Header.Set("Authorization", "Bearer "+o.token())
	}
	answer, err := o.client.Do(r)
	if err != nil {
		return nil, o.explain(ctx, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // a part of an error is enough
	return nil, o.refused(answer.StatusCode, text)
}

// refused returns the error of an answer other than 200.
func (o *operator) refused(status int, body []byte) error {
	var told struct{ Error *apiError }
	if json.Unmarshal(body, &told) != nil || told.Error == nil || told.Error.Code == "" {
		if status == http.StatusBadRequest && !o.at.secure { // as a server of Go answers one that has no TLS
			return failf("%s answers 400, as no node does; use https:// if it wants TLS, and check whether its node serves --http there", o.at.url)
		}
		return failf("%s answers %d, as no node does; check --addr, and whether its node serves --http there", o.at.url, status)
	}
	e := told.Error
	e.status = status
	switch {
	case status == http.StatusUnauthorized && o.token == nil:
		e.Text = "the node wants a token; give one with --token-file or " + variable("token")
	case status == http.StatusUnauthorized:
		e.Text = "the node does not accept this token; use one that it knows and that has not expired"
	}
	return e
}

// explain returns the reason why there is no answer, and an advice.
func (o *operator) explain(ctx context.Context, err error) error {
	text := mismatch(err, o.at)
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return context.Canceled
	case text != "":
	case errors.Is(err, context.DeadlineExceeded):
		text = "it has not answered in time; --deadline gives it more"
	case is[*net.DNSError](err):
		text = "there is no host of that name; check --addr"
	case errors.Is(err, syscall.ECONNREFUSED):
		text = "nobody listens there; start the node with --http, or check --addr"
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		text = "something else speaks there; use the address that the node serves by --http"
	default:
		text = withoutPackages(withoutAddress(err)) + "; check --addr and whether a node serves --http there"
	}
	return failf("cannot reach %s: %s", o.at.url, text)
}

// withoutAddress returns an error without the address of the request, whose query may be long.
func withoutAddress(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// begin makes a client for a command that takes at most that long. The caller calls done at the
// end.
func (f *operatorFlags) begin(ctx context.Context, deadline time.Duration) (o *operator, bounded context.Context, done func(), err error) {
	if o, err = f.plan(); err != nil {
		return nil, nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, deadline)
	return o, bounded, func() { cancel(); o.close() }, nil
}

// tellMissing prints the nodes that have not answered.
func tellMissing(std streams, nodes []api.Absent) {
	say := newPrinter(std.err)
	for _, n := range nodes {
		say.line(fmt.Sprintf("ribosome: the node %s is missing: %s", n.Node, n.Why))
	}
}

// serverEvent is an event of a stream.
type serverEvent struct {
	name string
	data []byte
}

// follow calls take for each event of a stream, until the stream ends, which is an error, or take
// returns one.
func (o *operator) follow(ctx context.Context, query url.Values, opened func(), take func(serverEvent) error) error {
	answer, err := o.send(ctx, http.MethodGet, "/api/events", query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	opened()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 4<<10), 64<<20)
	var e serverEvent
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0 && e.data != nil:
			if err := take(e); err != nil {
				return err
			}
			e = serverEvent{}
		case string(name) == "event":
			e.name = string(value)
		case string(name) == "data":
			e.data = append(e.data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return o.explain(ctx, err)
	}
	return failf("%s has ended the stream", o.at.url)
}

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

// find asks the operator's interface at --addr where agents connect, and which name the token has.
func (l *link) find(ctx context.Context) (name performatives.AgentID, err error) {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	defer l.operator.close()
	session, err := get[api.SessionView](patient, l.operator, "/api/session", nil)
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
