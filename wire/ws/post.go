package ws

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The paths of clients that send each message by a POST (addenda §9). They read the answers as a
// stream of events, which has a name by the parameter.
const (
	RequestPath = "/mcp-request"
	EventsPath  = "/mcp-events"
	streamParam = "stream"
)

// posting serves [RequestPath] and [EventsPath].
func (h *handler) posting(w http.ResponseWriter, r *http.Request) {
	method, serve := http.MethodPost, h.post
	if r.URL.Path == EventsPath {
		method, serve = http.MethodGet, h.events
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		writeError(w, denied(http.StatusMethodNotAllowed, performatives.CodeParsingError, "want the method "+method))
		return
	}
	opens := method == http.MethodPost && !r.URL.Query().Has(streamParam)
	known := func(r *http.Request) error {
		if opens || h.stream(r) != nil {
			return nil
		}
		return denied(http.StatusNotFound, performatives.CodeUnknownAgent, "there is no such stream: a POST without one opens one")
	}
	id, err := h.admit(r, known, opens)
	if err == nil {
		err = serve(w, r, id)
	}
	if err != nil {
		writeError(w, err)
	}
}

// post takes one message. A page of another site cannot send it: for this content type, the browser
// asks the node for permission first.
func (h *handler) post(w http.ResponseWriter, r *http.Request, id *wire.Identity) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return denied(http.StatusUnsupportedMediaType, performatives.CodeParsingError, "want the Content-Type application/json")
	}
	s, limits := (*stream)(nil), h.server.Limits()
	limit := limits.Frame
	if id == nil && !h.server.Options().Anonymous {
		limit = limits.Unauthenticated
	}
	if r.URL.Query().Has(streamParam) {
		var err error
		if s, err = h.streamOf(r, id); err != nil {
			return err
		}
		limit = int(s.limit.Load())
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(limits.FrameTime)) // a writer of a test has none
	frame, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return denied(http.StatusRequestEntityTooLarge, performatives.CodeInvalidPayload, "the message is too long")
	case err != nil:
		return denied(http.StatusBadRequest, performatives.CodeParsingError, "the message has not come whole")
	case !h.opts.Posts.Recognizes(frame):
		return denied(http.StatusBadRequest, performatives.CodeParsingError, "want a message of the dialect "+h.opts.Posts.Name())
	}
	opened := s == nil
	if opened {
		s = h.open(r, id)
	}
	taken, err := s.offer(r, frame)
	if err != nil {
		if opened {
			s.expire()
		}
		return err
	}
	answer, err := jsonscan.Marshal(struct {
		ID     performatives.MessageID `json:"id"`
		Stream string                  `json:"stream"`
	}{taken, s.token})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(answer) // the client has gone if it fails, and its stream ends unread
	return nil
}

// stream returns the stream that a request names, or nil.
func (h *handler) stream(r *http.Request) *stream {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.streams[r.URL.Query().Get(streamParam)]
}

// streamOf returns the stream that a request names. Only the client that has opened it may use it.
func (h *handler) streamOf(r *http.Request, id *wire.Identity) (*stream, error) {
	s := h.stream(r)
	switch {
	case s == nil:
		return nil, errEnded
	case (id == nil) != (s.id == nil) || id != nil && (id.Name != s.id.Name || !slices.Equal(id.Agents, s.id.Agents)):
		return nil, denied(http.StatusForbidden, performatives.CodeForbidden, "the stream is not that of these credentials")
	}
	return s, nil
}

var errEnded = denied(http.StatusNotFound, performatives.CodeStopped, "the stream has ended: a POST without one opens one")

// open opens a stream with its session.
func (h *handler) open(r *http.Request, id *wire.Identity) *stream {
	limits := h.server.Limits()
	s := &stream{
		token: rand.Text(), id: id, peer: peerOf(r), patience: limits.FrameTime, most: limits.Frame, frames: make(chan posted), control: make(chan wire.Frame, 4),
		changed: make(chan struct{}, 1), room: make(chan struct{}, 1), gone: make(chan struct{}), done: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	s.peer.Transport = "http"
	s.dialect = noting{h.opts.Posts, s}
	s.unread = time.AfterFunc(unreadTime, s.expire)
	h.lock.Lock()
	if h.streams == nil {
		h.streams = make(map[string]*stream)
	}
	h.streams[s.token] = s
	h.lock.Unlock()
	s.forget = func() {
		h.lock.Lock()
		defer h.lock.Unlock()
		delete(h.streams, s.token)
	}
	_ = h.server.Start(s, id) // it has closed the stream
	return s
}

// beatTime is the time between the signs of life of a stream.
const beatTime = 15 * time.Second

// events streams the answers, until the client goes, another reader comes, or the session ends.
func (h *handler) events(w http.ResponseWriter, r *http.Request, id *wire.Identity) error {
	s, err := h.streamOf(r, id)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	within := func(d time.Duration) { _ = control.SetWriteDeadline(time.Now().Add(d)) } // a writer of a test has none
	replaced := s.attach(func() { within(0) })
	defer func() {
		s.detach(replaced)
		within(s.patience) // for the end of the answer
	}()
	select { // what the reader before has written whole, this one does not write again
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-replaced:
		return nil
	case <-r.Context().Done():
		return nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	_ = control.SetReadDeadline(time.Time{}) // else the end of the time for the request ends it
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	for text := []byte(": answers\n\n"); ; {
		within(s.patience)
		select {
		case <-replaced: // its deadline may have been set before
			return nil
		default:
		}
		if _, err := w.Write(text); err != nil || control.Flush() != nil {
			return nil // the client has gone; what is unread waits for another reader
		}
		if bytes.HasPrefix(text, []byte(dataPrefix)) {
			s.pop()
		}
		if text = s.next(r, replaced, beat.C); text == nil {
			return nil
		}
	}
}

const dataPrefix = "data: "

// event returns a frame as an event. A frame is JSON, so that line breaks are between its tokens.
func event(frame []byte) []byte {
	lines := bytes.FieldsFunc(frame, func(r rune) bool { return r == '\n' || r == '\r' })
	return append(append([]byte(dataPrefix), bytes.Join(lines, []byte("\n"+dataPrefix))...), '\n', '\n')
}
