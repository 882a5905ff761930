package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	goruntime "runtime"
)

// Secret is a confidential text, such as a token. Formatting, logging and JSON encoding give
// "[redacted]". The conversion string(s) gives the text.
type Secret string

const redacted = "[redacted]"

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// MarshalText returns "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// opaque, when embedded, makes a type print as its name only.
type opaque string

// Format writes the name for every verb.
func (o opaque) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, string(o)) }

// String returns the name.
func (o opaque) String() string { return string(o) }

// LogValue returns the name.
func (o opaque) LogValue() slog.Value { return slog.StringValue(string(o)) }

// MarshalText returns the name.
func (o opaque) MarshalText() ([]byte, error) { return []byte(o), nil }

// Exposed returns a warning if the permissions of a secret file allow access to other users,
// or an empty string. It checks Unix permission bits only. A missing file gives no warning.
func Exposed(path string) (warning string) {
	info, err := os.Stat(path)
	if err != nil || goruntime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s is accessible to other users (mode %04o): use chmod 600", path, info.Mode().Perm())
}

// readSmall reads a file of at most limit bytes. The error names the file.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("auth: %w", err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("auth: %s is longer than %d bytes", path, limit)
	}
	if err := CheckMark(b); err != nil {
		return nil, fmt.Errorf("auth: %s: %w", path, err)
	}
	return b, nil
}

// CheckMark returns an error for the text of a file that begins with a byte order mark (U+FEFF), in
// UTF-8 or UTF-16. The mark is not displayed, and would be a part of the first name, token or key.
func CheckMark(text []byte) error {
	for _, mark := range []string{"\ufeff", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return errors.New("it begins with a byte order mark (U+FEFF); save it as UTF-8 without one")
		}
	}
	return nil
}
