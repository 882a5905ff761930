package gateway

import (
	"strings"
	"time"
)

// timeFormat is how wire writes a time: in UTC, with exactly milliseconds.
const timeFormat = `"2006-01-02T15:04:05.000Z"`

func appendTime(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, timeFormat) }

var (
	dateLayouts  = []string{"2006-01-02", "20060102", "2006-002", "2006002"}
	clockLayouts = []string{"15:04:05", "15:04", "150405", "1504"} // Go reads a fraction of seconds by itself
	zoneLayouts  = []string{"Z07:00", "Z0700", "Z07"}
)

// parseTime reads a time as ISO 8601 writes it: a calendar or an ordinal date, T or a
// space, the time of day with up to nine fractional digits, and the zone, none being
// UTC (addenda §1). A date alone is its midnight. The result is in UTC.
func parseTime(text string) (time.Time, bool) {
	if len(text) > 48 {
		return time.Time{}, false
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil { // nearly all are
		return inUTC(t)
	}
	text = strings.ToUpper(text)
	date, clock, ok := strings.Cut(text, "T")
	if !ok {
		date, clock, ok = strings.Cut(text, " ")
	}
	day, found := parseFirst(date, dateLayouts)
	if !ok || !found {
		return day, found
	}
	at, found := parseFirst(clock, clockLayouts)
	if !found {
		at, found = parseZoned(clock)
	}
	if !found {
		return time.Time{}, false
	}
	midnight := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	return inUTC(day.Add(at.Sub(midnight)))
}

func parseFirst(text string, layouts []string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func parseZoned(clock string) (time.Time, bool) {
	for _, zone := range zoneLayouts {
		for _, layout := range clockLayouts {
			if t, err := time.Parse(layout+zone, clock); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// inUTC refuses the years that RFC 3339 cannot write.
func inUTC(t time.Time) (time.Time, bool) {
	t = t.UTC()
	return t, t.Year() >= 0 && t.Year() <= 9999 && !t.IsZero()
}
