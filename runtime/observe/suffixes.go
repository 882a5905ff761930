package observe

import "unicode/utf8"

// suffixes is a tree of words, read from their last letter on. It tells in one pass, without a
// copy, that a name ends with none of the words.
type suffixes []suffix

// suffix is one letter of words, of which the first of all is the root.
type suffix struct {
	letter         byte
	ends           ending // of a word that begins with this letter
	child, sibling int    // zero for none
}

// ending says which names a word ends.
type ending uint8

const (
	noEnding    ending = iota
	afterWord          // names in which the word follows another one
	asWord             // and those that are the word
	everyEnding        // and those with letters in front of it
)

// add adds a word in its normal form.
func (s *suffixes) add(word string, ends ending) {
	if len(*s) == 0 {
		*s = suffixes{{}}
	}
	at := 0
	for i := len(word) - 1; i >= 0; i-- {
		next := s.child(at, word[i])
		if next == 0 {
			next = len(*s)
			*s = append(*s, suffix{letter: word[i], sibling: (*s)[at].child})
			(*s)[at].child = next
		}
		at = next
	}
	(*s)[at].ends = max((*s)[at].ends, ends)
}

func (s suffixes) child(of int, letter byte) int {
	at := s[of].child
	for at != 0 && s[at].letter != letter {
		at = s[at].sibling
	}
	return at
}

// mayEnd reports whether a name may end with one of the words, or with the plural of one. If it is
// false, none does. Letter case and separators do not count.
func (s suffixes) mayEnd(name string) bool {
	n := len(name)
	for n > 0 && isSeparator(name[n-1]) {
		n--
	}
	return n > 0 && len(s) > 0 && (s.mayEndWith(name) || lower(name[n-1]) == 's' && s.mayEndWith(name[:n-1]))
}

func (s suffixes) mayEndWith(name string) bool {
	at := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch {
		case isSeparator(name[i]):
			continue
		case name[i] >= utf8.RuneSelf:
			return true
		}
		if at = s.child(at, lower(name[i])); at == 0 {
			return false
		}
		switch ends := s[at].ends; {
		case ends == noEnding, ends == afterWord && i == 0:
		case ends == everyEnding, i == 0, !isLower(name[i]), !isLower(lower(name[i-1])) && !isDigit(name[i-1]):
			return true // a word can begin here
		}
	}
	return false
}

func isSeparator(b byte) bool { return b == '_' || b == '-' || b == '.' || b == ' ' }

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}
