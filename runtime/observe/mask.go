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
	"unicode"
	"unicode/utf8"
)

// Masked replaces each masked value.
const Masked = "***"

// secretNames are the names of [DefaultMask], and secretKeys the kinds of keys that are among them, such as signing_key. The names of wholeWords match whole words only.
var (
	secretNames = []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "pass", "pin", "otp", "totp", "secret", "token", "auth", "authorization", "credential", "creds",
		"cookie", "session", "jwt", "bearer", "signature", "cvv", "cvc",
	}
	secretKeys = []string{
		"api", "access", "private", "secret", "signing", "encryption", "master", "shared", "account", "service", "deploy", "session", "webhook", "license", "hmac", "aes", "rsa",
		"ssh", "pgp", "gpg", "tls", "ssl", "openai", "anthropic", "gemini", "mistral", "cohere", "huggingface", "hf", "aws", "azure", "gcp", "google", "github", "gitlab", "stripe",
		"twilio", "sendgrid", "slack", "datadog",
	}
	wholeWords = []string{"pass", "pin", "otp", "auth", "session", "signature", "hfkey"}

	// qualifiers are words behind a name that do not change what it is, as in passwordHash.
	qualifiers = []string{"hash", "hashed", "digest", "salt", "value", "text", "plain", "raw", "encrypted", "base64", "b64", "old", "new", "current", "confirm", "confirmation", "1", "2"}
)

// DefaultMask returns the names that a [Recorder] masks when its options name none.
func DefaultMask() []string {
	names := slices.Clone(secretNames)
	for _, kind := range secretKeys {
		names = append(names, kind+"_key")
	}
	return names
}

// Mask replaces values in JSON and in text. The name of a member matches when it ends with one of the mask's names, or with its plural;
// letter case, '_', '-' and spaces do not count, nor does a '.' in the name of a member. So "api_key" masks "X-Api-Key" and
// "openaiApiKeys". Short names such as "pin" and "auth" have to be whole words: they mask "cardPin", and neither "spin" nor "author". A word behind the name such as hash or confirmation does not
// count. The whole value of a match is replaced, an object or a list too. A number under a plural is a count, as in "max_tokens", and stays.
//
// Of an object with a name and a value, such as {"name":"Authorization","value":"…"}, the value is masked if the name matches. A text that is JSON is masked as JSON; in any other,
// as [Mask.Text] does it.
//
// A mask does not find a secret that no name tells: one in a sentence, in a list of values, under a name such as "key", "data" or "session_id", in a name whose words are not separated ("userpass"), or in text
// that is encoded (base64, compressed). A path finds what the names do not.
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
		m.named(v)
	case []any:
		for i := range v {
			v[i] = m.value(v[i], at)
		}
	case string:
		return m.text(v)
	}
	return v
}

// named masks the value of an object that has the name of it as another member.
func (m Mask) named(v map[string]any) {
	hides := false
	for member, name := range v {
		text, is := name.(string)
		hides = hides || is && slices.Contains([]string{"name", "key", "header", "field"}, normal(member)) && m.hides(text, false)
	}
	if !hides {
		return
	}
	for member := range v {
		if slices.Contains([]string{"value", "values", "val", "content"}, normal(member)) {
			v[member] = Masked
		}
	}
}

// text masks a text, which may be JSON.
func (m Mask) text(text string) string {
	if trimmed := strings.TrimSpace(text); len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if masked, err := m.JSON([]byte(text)); err == nil {
			return string(masked)
		}
	}
	return m.Text(text)
}

func (m Mask) member(name string, value any, of []string) any {
	_, number := value.(json.Number)
	at := append(of, normal(name)) //nolint:gocritic // the members of one object follow each other
	if m.hides(name, number) || slices.ContainsFunc(m.paths, func(path []string) bool { return endsWith(at, path) }) {
		return Masked
	}
	return m.value(value, at)
}

// hides reports whether the values of members of a name are masked.
func (m Mask) hides(name string, number bool) bool {
	words := wordsOf(name)
	for len(words) > 1 && slices.Contains(qualifiers, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	joined := strings.Join(words, "")
	return slices.ContainsFunc(m.names, func(masked string) bool {
		whole, found := joined, strings.HasSuffix(joined, masked)
		if !found && !number && strings.HasSuffix(joined, "s") {
			whole = joined[:len(joined)-1]
			found = strings.HasSuffix(whole, masked)
		}
		return found && (!slices.Contains(wholeWords, masked) || beginsWord(words, len(whole)-len(masked)))
	})
}

// beginsWord reports whether a word begins at a place of the joined words.
func beginsWord(words []string, at int) bool {
	for _, w := range words {
		if at <= 0 {
			break
		}
		at -= len(w)
	}
	return at == 0
}

// wordsOf returns the words of a name in lower case: those of openaiKey, openai_key and OPENAI-KEY are the same.
func wordsOf(name string) (words []string) {
	from, before := 0, rune(0)
	end := func(at int) {
		if at > from {
			words = append(words, strings.ToLower(name[from:at]))
		}
		from = at
	}
	for i, r := range name {
		switch {
		case strings.ContainsRune("_-. ", r):
			end(i)
			from = i + 1
		case unicode.IsUpper(r) && !unicode.IsUpper(before), unicode.IsDigit(r) && !unicode.IsDigit(before):
			end(i)
		case unicode.IsLower(r) && unicode.IsUpper(before) && i-utf8.RuneLen(before) > from: // the last letter of AI and Key in AIKey
			end(i - utf8.RuneLen(before))
		}
		before = r
	}
	end(len(name))
	return words
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

// assigned matches a name with a separator in a text, such as token= and "token": and Authorization:, and assignedValue the value behind it. The time of the search is linear: the values of names that the mask
// has not are no part of a match.
var (
	assigned      = regexp.MustCompile(`([\pL\pN_.-]+)(["']?\s*[:=]\s*)`)
	assignedValue = regexp.MustCompile(`^(?:(?i:bearer|basic)\s+)?(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&"')\]}]+)`)
)

// userinfo matches the name and the password in a URL.
var userinfo = regexp.MustCompile(`://[^\s/?#@"']+@`)

// Text returns a text with the values masked that stand behind a name of the mask and a colon or an equals sign, also in the query of a URL, and names and passwords in URLs. It is for texts that
// people read: a secret that stands in a sentence without its name is not found.
func (m Mask) Text(text string) string {
	if len(m.names) == 0 || !strings.ContainsAny(text, ":=") {
		return text
	}
	text = userinfo.ReplaceAllString(text, "://"+Masked+"@")
	var b strings.Builder
	for {
		at := assigned.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]])
		name := text[at[2]:at[3]]
		text = text[at[1]:]
		if !m.hides(name, false) {
			continue
		}
		value := assignedValue.FindString(text)
		if _, err := strconv.ParseFloat(value, 64); value != "" && m.hides(name, err == nil) {
			b.WriteString(Masked)
			text = text[len(value):]
		}
	}
}
