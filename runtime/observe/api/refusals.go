package api

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// refusalView is a refusal or a dead letter, and the node that has recorded it.
type refusalView struct {
	observe.Refusal
	Node string `json:"node"`
}

// refusalList is the answer of GET /api/refusals.
type refusalList struct {
	Refusals []refusalView `json:"refusals"`
	Next     string        `json:"next,omitempty"` // the cursor of the next page; empty at the end
	partial
}

func (h *Handler) refusals(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, ok := limitIn(w, r)
	if !ok {
		return
	}
	kind, agent, code := q.Get("kind"), q.Get("agent"), q.Get("code")
	if kind != "" && kind != observe.KindRefused && kind != observe.KindDeadLetter {
		fail(w, http.StatusBadRequest, "kind", "kind has to be "+observe.KindRefused+" or "+observe.KindDeadLetter)
		return
	}
	after, ok := keyIn(w, r, refusalKey)
	if !ok {
		return
	}
	some := []refusalView{}
	for _, one := range h.options.Recorder.Refusals() {
		v := refusalView{one, h.options.Node.Name()}
		is := agent == "" || strings.EqualFold(agent, string(v.From)) || strings.EqualFold(agent, string(v.To))
		if is && (kind == "" || kind == v.Kind) && (code == "" || code == string(v.Code)) && (len(after) == 0 || v.key() < after) {
			some = append(some, v)
		}
	}
	answer(w, http.StatusOK, pageOf(some, limit, false))
}

// pageOf returns the latest refusals of a list. more says that there are more than those in the
// list.
func pageOf(all []refusalView, limit int, more bool) (v refusalList) {
	slices.SortFunc(all, func(a, b refusalView) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Seq, a.Seq), cmp.Compare(b.Node, a.Node))
	})
	if v.Refusals = all; len(all) > limit {
		v.Refusals, more = all[:limit], true
	}
	if more && len(v.Refusals) > 0 {
		v.Next = base64.RawURLEncoding.EncodeToString([]byte(v.Refusals[len(v.Refusals)-1].key()))
	}
	return v
}

// key returns a text that sorts refusals by time, those of one time by number, and those of one
// number by node.
func (v refusalView) key() string {
	return v.Time.UTC().Format(sortedTime) + fmt.Sprintf("%0*d", digitsOfSeq, v.Seq) + v.Node
}

const digitsOfSeq = 20

// refusalKey matches what [refusalView.key] returns behind the time.
var refusalKey = regexp.MustCompile(fmt.Sprintf(`^[0-9]{%d}(?s:.*)$`, digitsOfSeq))

// mergeRefusals puts pages together that were asked for with the same cursor.
func mergeRefusals(r *http.Request, parts []part[refusalList]) refusalList {
	limit, _ := limitOf(r) // this node has answered
	all, more := []refusalView{}, false
	for _, p := range parts {
		all, more = append(all, p.view.Refusals...), more || p.view.Next != ""
	}
	return pageOf(all, limit, more)
}

// rateView is the answer of GET /api/rates.
type rateView struct {
	Interval float64          `json:"interval_s"` // the length of an interval, in seconds
	Samples  []observe.Sample `json:"samples"`    // of the intervals that are over, the oldest first
	partial
}

func (h *Handler) rates(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, rateView{Interval: observe.RateInterval.Seconds(), Samples: h.options.Recorder.Rates()})
}

// mergeRates adds the counts of the nodes for each interval.
func mergeRates(_ *http.Request, parts []part[rateView]) rateView {
	by := make(map[int64]*observe.Sample)
	v := rateView{Interval: observe.RateInterval.Seconds(), Samples: []observe.Sample{}}
	for _, p := range parts {
		for _, s := range p.view.Samples {
			sum := by[s.Time.UnixNano()]
			if sum == nil {
				sum = &observe.Sample{Time: s.Time}
				by[s.Time.UnixNano()] = sum
			}
			sum.Add(s)
		}
	}
	for _, s := range by {
		v.Samples = append(v.Samples, *s)
	}
	slices.SortFunc(v.Samples, func(a, b observe.Sample) int { return a.Time.Compare(b.Time) })
	return v
}
