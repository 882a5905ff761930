package performatives

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Estimate is a length of time as acl writes it: whole seconds as a number, or
// an ISO 8601 duration as a string (addenda §3). An Estimate from a peer is
// written unchanged. The zero Estimate means that there is none.
type Estimate struct {
	d    time.Duration
	text json.RawMessage // as it came; nil when made here
}

// EstimateOf returns the Estimate of d, limited to the range that UnmarshalJSON
// accepts: 0 to 100 years. It is written in whole seconds, rounded up.
func EstimateOf(d time.Duration) Estimate { return Estimate{d: min(max(d, 0), maxEstimate)} }

// Duration returns the length of time. Months and years count 30 and 365 days.
func (e Estimate) Duration() time.Duration { return e.d }

// Equal reports whether both are the same length of time, however written. No
// estimate is not the same as one of no time.
func (e Estimate) Equal(other Estimate) bool { return e.d == other.d && e.IsZero() == other.IsZero() }

// IsZero reports whether there is no estimate.
func (e Estimate) IsZero() bool { return e.d == 0 && e.text == nil }

// MarshalJSON writes the estimate as it came, or whole seconds. The result is e's
// and must not be changed.
func (e Estimate) MarshalJSON() ([]byte, error) {
	if e.text != nil {
		return slices.Clip(e.text), nil
	}
	return strconv.AppendInt(nil, int64((e.d+time.Second-1)/time.Second), 10), nil
}

// UnmarshalJSON reads seconds, as a number or in a string, or an ISO 8601
// duration. null and "" are no estimate.
func (e *Estimate) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	d, ok := estimateFrom(v)
	if !ok {
		return invalid("", "seconds or an ISO 8601 duration such as PT5M", fmt.Sprintf("%.40s", b))
	}
	*e = Estimate{}
	if v != nil && v != "" {
		*e = Estimate{d, append(json.RawMessage(nil), b...)}
	}
	return nil
}

func estimateFrom(v any) (time.Duration, bool) {
	switch v := v.(type) {
	case nil:
		return 0, true
	case float64:
		return seconds(v)
	case string:
		if v == "" {
			return 0, true
		}
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			return seconds(float64(n)) // acl's text allows to read its example so
		}
		return parseISODuration(v)
	}
	return 0, false
}

// maxEstimate keeps sums of parts far from overflowing a time.Duration.
const maxEstimate = 100 * 365 * 24 * time.Hour

func seconds(s float64) (time.Duration, bool) {
	if !(s >= 0 && s <= maxEstimate.Seconds()) {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+(?:[.,]\d+)?)Y)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?(?:T(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)

var isoUnits = [...]float64{365 * 86400, 30 * 86400, 7 * 86400, 86400, 3600, 60, 1} // seconds

func parseISODuration(s string) (time.Duration, bool) {
	m := isoDuration.FindStringSubmatch(s)
	if m == nil || s[len(s)-1] == 'P' || s[len(s)-1] == 'T' {
		return 0, false
	}
	total := 0.0
	for i, unit := range isoUnits {
		if m[i+1] != "" {
			n, _ := strconv.ParseFloat(strings.Replace(m[i+1], ",", ".", 1), 64) // the pattern admits only numbers
			total += n * unit
		}
	}
	return seconds(total)
}
