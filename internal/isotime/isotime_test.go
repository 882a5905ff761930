package isotime_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
)

func TestParse(t *testing.T) {
	at := time.Date(2024, 1, 15, 10, 30, 45, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-01-15T10:30:45Z":             at,
		"2024-01-15T10:30:45":              at,
		"2024-01-15 10:30:45":              at,
		"2024-01-15t10:30:45z":             at,
		"2024-01-15T12:30:45+02:00":        at,
		"2024-01-15T08:00:45-0230":         at,
		"2024-01-15T12:30:45+02":           at,
		"20240115T103045Z":                 at,
		"2024-015T10:30:45Z":               at,
		"2024-01-15T10:30:45.5":            at.Add(time.Second / 2),
		"2024-01-15T10:30:45,123456789Z":   at.Add(123456789),
		"2024-01-15T10:30:45.123456+00:00": at.Add(123456 * time.Microsecond),
		"2024-01-15T10:30Z":                at.Add(-45 * time.Second),
		"2024-01-15":                       time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC),
		"2024-W03-1T10:30:45Z":             at,
		"2024W031T103045":                  at,
		"":                                 {},
		"T":                                {},
		"yesterday":                        {},
		"2024-02-30T10:30:45Z":             {},
		"2024-01-15T25:30:45Z":             {},
		"2024-01-15T10:30:45Zx":            {},
		"1705314645":                       {},
		"0000-01-01T00:00:00+01:00":        {},
		strings.Repeat("2", 1000):          {},
	} {
		got, ok := isotime.Parse([]byte(text))
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%.40q: %v %t, want %v", text, got, ok, want)
		}
	}
}
