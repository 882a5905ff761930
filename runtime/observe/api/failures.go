package api

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// failureList is the answer of GET /api/failures.
type failureList struct {
	Failures []observe.Failure `json:"failures"`
	partial
}

func (h *Handler) failures(r *http.Request) (v failureList, f *failure) {
	q := r.URL.Query()
	limit, f := limitOf(r)
	if f != nil {
		return v, f
	}
	all := h.options.Recorder.Failures(performatives.AgentID(q.Get("agent")), performatives.ConversationID(q.Get("conversation")))
	v.Failures = all[:min(limit, len(all))]
	return v, nil
}

// mergeFailures lists the latest failures of the nodes.
func mergeFailures(r *http.Request, parts []part[failureList]) (v failureList) {
	limit, _ := limitOf(r) // this node has answered
	v.Failures = listed(parts, func(l failureList) []observe.Failure { return l.Failures })
	latestFirst(v.Failures)
	v.Failures = v.Failures[:min(limit, len(v.Failures))]
	return v
}

func latestFirst(all []observe.Failure) {
	slices.SortStableFunc(all, func(a, b observe.Failure) int { return b.Time.Compare(a.Time) })
}

// refusalList is the answer of GET /api/refusals.
type refusalList struct {
	Refusals []observe.Refusal `json:"refusals"`
	Next     string            `json:"next,omitempty"` // the cursor of the next page; empty at the end
	partial
}

func (h *Handler) refusals(r *http.Request) (v refusalList, f *failure) {
	q := r.URL.Query()
	limit, f := limitOf(r)
	if f != nil {
		return v, f
	}
	kind, agent, code := q.Get("kind"), q.Get("agent"), q.Get("code")
	if kind != "" && kind != observe.KindRefused && kind != observe.KindDeadLetter {
		return v, badRequest("kind", "kind has to be "+observe.KindRefused+" or "+observe.KindDeadLetter)
	}
	after, f := keyIn(r, refusalKeys)
	if f != nil {
		return v, f
	}
	some := []observe.Refusal{}
	for _, v := range h.options.Recorder.Refusals() {
		is := agent == "" || strings.EqualFold(agent, string(v.From)) || strings.EqualFold(agent, string(v.To))
		if is && (kind == "" || kind == v.Kind) && (code == "" || code == string(v.Code)) && (len(after) == 0 || refusalKey(v) < after) {
			some = append(some, v)
		}
	}
	return pageOf(some, limit, false), nil
}

// pageOf returns the latest refusals of a list. more says that there are more than those in the
// list.
func pageOf(all []observe.Refusal, limit int, more bool) (v refusalList) {
	slices.SortFunc(all, func(a, b observe.Refusal) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Seq, a.Seq), cmp.Compare(b.Node, a.Node))
	})
	if v.Refusals = all; len(all) > limit {
		v.Refusals, more = all[:limit], true
	}
	if more && len(v.Refusals) > 0 {
		v.Next = base64.RawURLEncoding.EncodeToString([]byte(refusalKey(v.Refusals[len(v.Refusals)-1])))
	}
	return v
}

// refusalKey returns a text that sorts refusals by time, those of one time by number, and those of
// one number by node.
func refusalKey(v observe.Refusal) string {
	return v.Time.UTC().Format(sortedTime) + fmt.Sprintf("%0*d", digitsOfSeq, v.Seq) + v.Node
}

const digitsOfSeq = 20

// refusalKeys matches what refusalKey returns behind the time.
var refusalKeys = regexp.MustCompile(fmt.Sprintf(`^[0-9]{%d}(?s:.*)$`, digitsOfSeq))

// mergeRefusals puts pages together that were asked for with the same cursor.
func mergeRefusals(r *http.Request, parts []part[refusalList]) refusalList {
	limit, _ := limitOf(r) // this node has answered
	more := slices.ContainsFunc(parts, func(p part[refusalList]) bool { return p.view.Next != "" })
	return pageOf(listed(parts, func(l refusalList) []observe.Refusal { return l.Refusals }), limit, more)
}

// rateView is the answer of GET /api/rates.
type rateView struct {
	Interval float64          `json:"interval_s"` // the length of an interval, in seconds
	Samples  []observe.Sample `json:"samples"`    // of the intervals that are over, the oldest first
	partial
}

func (h *Handler) rates(*http.Request) (rateView, *failure) {
	return rateView{Interval: observe.RateInterval.Seconds(), Samples: h.options.Recorder.Rates()}, nil
}

// mergeRates adds the counts of the nodes for each interval.
func mergeRates(_ *http.Request, parts []part[rateView]) rateView {
	by := make(map[int64]observe.Sample)
	for _, s := range listed(parts, func(v rateView) []observe.Sample { return v.Samples }) {
		if sum, known := by[s.Time.UnixNano()]; known {
			s.Add(sum)
		}
		by[s.Time.UnixNano()] = s
	}
	return rateView{Interval: observe.RateInterval.Seconds(), Samples: slices.SortedFunc(maps.Values(by), func(a, b observe.Sample) int { return a.Time.Compare(b.Time) })}
}
