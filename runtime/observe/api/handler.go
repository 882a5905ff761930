package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// Handler serves the operator's interface of one node.
type Handler struct {
	options  Options
	client   *http.Client
	mux      *http.ServeMux
	patterns []string                    // of the routes that openapi.json describes
	machines map[string]*machine.Machine // by the name of the codon
	denied   refusals
	closed   chan struct{}
	close    sync.Once
}

// New returns the handler of a node. Without Options.Auth it serves clients of this machine only,
// under a Host that names this machine: a page of another site cannot reach it under a name of its
// own (DNS rebinding). A request with an Origin other than its Host is refused in any case. The
// error names the option that is missing.
func New(o Options) (*Handler, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Handler{options: o, client: newClient(o.PeerTLS), mux: http.NewServeMux(), machines: make(map[string]*machine.Machine), closed: make(chan struct{})}
	h.denied = refusals{
		publish: func(e observe.OperatorRefused) { o.Node.Events().Publish(e) }, log: o.Logger, by: make(map[netip.Prefix]*refused),
	}
	for _, c := range append(library.Codons(), o.Codons...) {
		h.machines[c.Name()] = c.Machine()
	}
	h.handle("GET /healthz", serve(func(*http.Request) (status, *failure) { return status{"ok"}, nil }))
	h.handle("GET /readyz", h.ready)
	h.handle("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, openAPI) })
	h.handle("GET /api/session", h.admits(noRight, h.session))
	h.handle("GET /api/node", h.reads(serve(h.node)))
	h.handle("GET /api/nodes", h.reads(spread(h, h.nodes, mergeNodes)))
	h.handle("POST /api/node/drain", h.acts(h.drain))
	h.handle("GET /api/members", h.reads(serve(h.members)))
	h.handle("GET /api/agents", h.reads(spread(h, h.agents, mergeAgents)))
	h.handle("GET /api/refusals", h.reads(spread(h, h.refusals, mergeRefusals)))
	h.handle("GET /api/failures", h.reads(spread(h, h.failures, mergeFailures)))
	h.handle("GET /api/rates", h.reads(spread(h, h.rates, mergeRates)))
	h.handle("GET /api/conversations", h.reads(spread(h, h.conversations, mergePages)))
	h.handle("GET /api/conversations/{id}", h.reads(spread(h, h.conversation, mergeConversation)))
	h.handle("GET /api/conversations/{id}/tree", h.reads(serve(h.tree)))
	h.handle("GET /api/traces/{id}", h.reads(spread(h, h.trace, mergeTraces)))
	h.handle("POST /api/conversations/{id}/cancel", h.acts(h.cancel))
	h.handle("GET /api/codons/{name}", h.reads(serve(h.codon)))
	h.handle("GET /api/approvals", h.reads(spread(h, h.approvals, mergeApprovals)))
	h.handle("POST /api/approvals/{id}", h.acts(h.decide))
	h.handle("GET /api/events", h.admits(auth.RightRead, func(_ wire.Identity, w http.ResponseWriter, r *http.Request) { h.events(w, r) }))
	if o.Metrics != nil {
		h.handle("GET /metrics", h.reads(o.Metrics.ServeHTTP))
	}
	if o.Console != nil {
		h.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "console/") // relative: a program may serve it below a prefix
			w.WriteHeader(http.StatusFound)
		})
		h.handle("GET /console", o.Console.ServeHTTP)
		h.handle("GET /console/", o.Console.ServeHTTP)
	}
	h.mux.HandleFunc("/", h.unrouted)
	return h, nil
}

// unrouted refuses a request whose path, or whose method, is none of the interface.
func (h *Handler) unrouted(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} { // no path has both
		if _, pattern := h.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); strings.HasPrefix(pattern, method+" ") {
			w.Header().Set("Allow", strings.Replace(method, http.MethodGet, "GET, HEAD", 1))
			fail(w, failed(http.StatusMethodNotAllowed, "method", "this path takes "+method+" requests only; docs/api.md lists what there is"))
			return
		}
	}
	fail(w, failed(http.StatusNotFound, codeNoPath, "there is nothing at this path; docs/api.md lists what there is"))
}

// openAPI describes the interface; the tests check the answers against it
// (docs/adr/0039-openapi.md).
//
//go:embed openapi.json
var openAPI []byte

// codeNoPath is the code of the answer to a request whose path is none of the interface.
const codeNoPath = "not_found"

// handle adds a route.
func (h *Handler) handle(pattern string, serve http.HandlerFunc) {
	h.patterns = append(h.patterns, pattern)
	h.mux.HandleFunc(pattern, serve)
}

// Close ends the streams of events, and those that are asked for later, and closes idle connections
// to other nodes. Closing again does nothing.
func (h *Handler) Close() {
	h.close.Do(func() {
		close(h.closed)
		h.denied.close()
	})
	h.client.CloseIdleConnections()
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if f := h.foreign(r); f != nil {
		fail(w, f)
		return
	}
	if !plain(r.URL.EscapedPath()) {
		fail(w, badRequest("path", "a part of the path is empty, . or ..; write the dots of an id as %2E"))
		return
	}
	h.mux.ServeHTTP(&reply{w, r}, r)
}

// plain reports whether a path is one that the mux serves as it is, and not by a redirection to
// another one.
func plain(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		if part == "." || part == ".." || part == "" && i < len(parts)-1 {
			return false
		}
	}
	return true
}

// reads serves a view of this node, or with the parameter node that of another one.
func (h *Handler) reads(next http.HandlerFunc) http.HandlerFunc {
	return h.admits(auth.RightRead, func(_ wire.Identity, w http.ResponseWriter, r *http.Request) { h.routed(w, r, next) })
}

// admits serves the requests of clients that have a right.
func (h *Handler) admits(right auth.Right, next func(who wire.Identity, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, f := h.admit(r, right)
		if f != nil {
			fail(w, f)
			return
		}
		next(who, w, r)
	}
}

// acts serves a request that changes something, and publishes its outcome. Where do returns an
// error and has set no outcome, that is the code of the error. A page of another site cannot send
// such a request: for this content type, the browser asks the node for permission first.
func (h *Handler) acts(do func(who wire.Identity, r *http.Request, act *observe.OperatorActed) (view any, f *failure)) http.HandlerFunc {
	return h.admits(auth.RightAct, func(who wire.Identity, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "application/json" {
			fail(w, failed(http.StatusUnsupportedMediaType, "content_type", "the header Content-Type has to be application/json"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		var a observe.OperatorActed
		node, code := h.routed(w, r, serve(func(r *http.Request) (any, *failure) {
			view, f := do(who, r, &a)
			if f != nil {
				a.Outcome = cmp.Or(a.Outcome, f.Error.Code)
			}
			return view, f
		}))
		if node != "" {
			a = observe.OperatorActed{What: "forward", Of: r.Method + " " + r.URL.Path, Outcome: fmt.Sprint(node, ": ", code)}
		}
		if a.What == "" {
			return // it was misdirected, and nothing was tried
		}
		a.At, a.Who, a.Host = now(), string(who.Name), hostOf(r.RemoteAddr)
		h.options.Node.Events().Publish(a)
		h.options.Logger.Info("operator acted", "who", a.Who, "host", a.Host, "what", a.What, "of", a.Of, "agent", string(a.Agent), "conversation", string(a.Conversation), "reason", a.Reason, "result", a.Outcome)
	})
}

func now() events.At { return events.At{Time: time.Now()} }

// maxBody is the longest body of a request, in bytes.
const maxBody = 64 << 10

// status is the answer of /healthz and of a decision.
type status struct {
	Status string `json:"status"`
}

// readiness is the answer of /readyz.
type readiness struct {
	Status  string `json:"status"`            // ready, joining, unlinked or draining
	Cluster string `json:"cluster,omitempty"` // joined or joining; empty for a node without a cluster
}

func (h *Handler) ready(w http.ResponseWriter, _ *http.Request) {
	v, code := readiness{Status: "ready"}, http.StatusOK
	if n := h.options.Node; n.Members() != nil {
		v.Cluster = "joined"
		if !n.Joined() {
			v, code = readiness{"joining", "joining"}, http.StatusServiceUnavailable
		} else if !n.Linked() {
			v.Status, code = "unlinked", http.StatusServiceUnavailable
		}
	}
	if h.options.Draining != nil && h.options.Draining() {
		v.Status, code = "draining", http.StatusServiceUnavailable
	}
	answer(w, code, v)
}

// failure is the answer to a request that is refused.
type failure struct {
	Error errorBody `json:"error"`

	status int
}

type errorBody struct {
	Code string `json:"code"`
	Text string `json:"text"` // what to do
}

// text returns the failure in one line. Only the answer of something that is no node has no code.
func (f *failure) text() string { return strings.TrimPrefix(f.Error.Code+": "+f.Error.Text, ": ") }

func failed(status int, code, text string) *failure { return &failure{errorBody{code, text}, status} }

func badRequest(code, text string) *failure { return failed(http.StatusBadRequest, code, text) }

func notFound(code, text string) *failure { return failed(http.StatusNotFound, code, text) }

// serve answers each request with a view, or with the reason why there is none.
func serve[T any](view func(r *http.Request) (T, *failure)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, f := view(r)
		if f != nil {
			fail(w, f)
			return
		}
		answer(w, http.StatusOK, v)
	}
}

// fail answers a request that is refused.
func fail(w http.ResponseWriter, f *failure) {
	switch f.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
	}
	answer(w, f.status, f)
}

// answer writes JSON, with < and > escaped.
func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // all types of answers can be encoded
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","text":"the answer cannot be encoded"}}`)
	}
	send(w, status, append(text, '\n'))
}

// send writes JSON.
func send(w http.ResponseWriter, status int, text []byte) {
	if to, ok := w.(*reply); ok {
		to.json(status, text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}

// reply writes the answer to one request. It compresses JSON, and leaves JSON out that the client
// has.
type reply struct {
	http.ResponseWriter
	request *http.Request
}

// Unwrap is for [http.ResponseController].
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// minZipped is the length in bytes from which JSON is compressed.
const minZipped = 1 << 10

// zippers are writers of gzip that are used again.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return z
}}

// zips reports whether an answer may be compressed. The length of a compressed answer tells how
// similar its parts are (BREACH): an answer that has contents of several agents is not compressed,
// and none is for a page of another site.
func (w *reply) zips() bool {
	switch w.request.Pattern {
	case "GET /api/approvals", "GET /api/refusals":
		return false
	}
	site := w.request.Header.Get("Sec-Fetch-Site")
	return (site == "" || site == "same-origin" || site == "none") && strings.Contains(w.request.Header.Get("Accept-Encoding"), "gzip")
}

// json writes JSON.
func (w *reply) json(status int, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Vary", "Accept-Encoding")
	if status == http.StatusOK && w.request.Method == http.MethodGet {
		sum := sha256.Sum256(text)
		tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		if header.Set("ETag", tag); w.request.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(text) >= minZipped && w.zips() {
		var short bytes.Buffer
		z, _ := zippers.Get().(*gzip.Writer)
		z.Reset(&short)
		_, _ = z.Write(text) // a buffer takes everything
		_ = z.Close()
		zippers.Put(z)
		header.Set("Content-Encoding", "gzip")
		text = short.Bytes()
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}
