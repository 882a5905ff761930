package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Masked is what stands in the place of a masked value.
const Masked = "***"

// DefaultMask returns the names that a [Recorder] masks when its options name none.
func DefaultMask() []string {
	return []string{
		"password", "passwd", "passphrase", "pwd", "secret", "token", "api_key", "access_key", "private_key",
		"authorization", "credential", "cookie", "jwt",
	}
}

// Mask replaces values in JSON. The name of a member matches when it ends with one of the mask's names, or with its plural;
// letter case, '_', '-', '.' and spaces do not count. So "api_key" masks "X-Api-Key" and "openaiApiKeys". The whole value of a match is
// replaced, an object or a list too. A number under a plural is a count, as in "max_tokens", and stays. The zero Mask masks nothing.
type Mask struct{ names []string }

// NewMask returns the mask of the names.
func NewMask(names []string) Mask {
	var m Mask
	for _, name := range names {
		if name = normal(name); name != "" {
			m.names = append(m.names, name)
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
	return json.Marshal(m.value(value))
}

func (m Mask) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = m.member(name, member)
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	}
	return v
}

func (m Mask) member(name string, value any) any {
	_, number := value.(json.Number)
	name = normal(name)
	for _, masked := range m.names {
		if strings.HasSuffix(name, masked) || !number && strings.HasSuffix(name, masked+"s") {
			return Masked
		}
	}
	return m.value(value)
}
