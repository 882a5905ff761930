package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Masked replaces each masked value.
const Masked = "***"

// DefaultMask returns the names that a [Recorder] masks when its options name none.
func DefaultMask() []string {
	return []string{
		"password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "access_key", "private_key",
		"authorization", "credential", "cookie", "jwt",
	}
}

// Mask replaces values in JSON and in text. The name of a member matches when it ends with one of the mask's names, or with its plural;
// letter case, '_', '-' and spaces do not count, nor does a '.' in the name of a member. So "api_key" masks "X-Api-Key" and
// "openaiApiKeys". The whole value of a match is replaced, an object or a list too. A number under a plural is a count, as in "max_tokens",
// and stays.
//
// A name of the mask with dots is a path of members: "card.number" masks the members number of all members card, wherever those are, and
// "payload.card.number" only that of the member card of the whole payload, or of a member payload in it. Of a path, each name has to be the whole name of a member;
// "*" stands for any name. Items of lists are no steps of a path. The zero Mask masks nothing.
type Mask struct {
	names []string
	paths [][]string
}

// wholePayload is the first step of a path that begins at the whole value, and anyName is a step that stands for any name.
const (
	wholePayload = "payload"
	anyName      = "*"
)

// NewMask returns the mask of names and paths. Empty ones are left out.
func NewMask(names []string) Mask {
	var m Mask
	for _, name := range names {
		var path []string
		for step := range strings.SplitSeq(name, ".") {
			if step = normal(step); step != "" {
				path = append(path, step)
			}
		}
		switch len(path) {
		case 0:
		case 1:
			m.names = append(m.names, path[0])
		default:
			m.paths = append(m.paths, path)
		}
	}
	return m
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

func normal(name string) string { return separators.Replace(strings.ToLower(name)) }

// JSON returns the text with its masked values replaced and its members sorted by name. The error says that text is not one JSON value.
func (m Mask) JSON(text []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number keeps its digits
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("observe: mask: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("observe: mask: text after the JSON value")
	}
	return json.Marshal(m.value(value, []string{wholePayload}))
}

// value masks the value at a path, which begins with wholePayload.
func (m Mask) value(v any, at []string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = m.member(name, member, at)
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i], at)
		}
	}
	return v
}

func (m Mask) member(name string, value any, of []string) any {
	_, number := value.(json.Number)
	name = normal(name)
	at := append(of, name) //nolint:gocritic // the members of one object follow each other
	if m.hides(name, number) || slices.ContainsFunc(m.paths, func(path []string) bool { return endsWith(at, path) }) {
		return Masked
	}
	return m.value(value, at)
}

// hides reports whether the values of members of a name are masked.
func (m Mask) hides(name string, number bool) bool {
	return slices.ContainsFunc(m.names, func(masked string) bool {
		return strings.HasSuffix(name, masked) || !number && strings.HasSuffix(name, masked+"s")
	})
}

func endsWith(at, path []string) bool {
	if len(path) > len(at) {
		return false
	}
	for i, step := range at[len(at)-len(path):] {
		if path[i] != step && path[i] != anyName {
			return false
		}
	}
	return true
}

// assigned matches a name with a value in a text, such as token=x, "token": "x" and Authorization: Bearer x. The groups are the name, the
// separator, and the value.
var assigned = regexp.MustCompile(`([\pL\pN_.-]+)(["']?\s*[:=]\s*)((?:(?i:bearer|basic)\s+)?(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&"')\]}]+))`)

// Text returns a text with the values masked that stand behind a name of the mask and a colon or an equals sign. It is for texts that
// people read: a secret that stands in a sentence without its name is not found.
func (m Mask) Text(text string) string {
	if len(m.names) == 0 {
		return text
	}
	return assigned.ReplaceAllStringFunc(text, func(found string) string {
		parts := assigned.FindStringSubmatch(found)
		_, err := strconv.ParseFloat(parts[3], 64)
		if m.hides(normal(parts[1]), err == nil) {
			return parts[1] + parts[2] + Masked
		}
		return found
	})
}
