package main

import "strings"

// nearest returns the name that is most similar to the written one: the one with the
// smallest edit distance, and the first of several.
func nearest(written string, names []string) string {
	written = strings.ReplaceAll(strings.ToLower(written), "_", "-")
	best, least := "", -1
	for _, name := range names {
		if d := slips(written, name); least < 0 || d < least {
			best, least = name, d
		}
	}
	return best
}

// slips returns the edit distance of a and b: the number of letters to insert, remove,
// replace or swap with the next.
func slips(a, b string) int {
	d := make([][]int, len(a)+1) // d[i][j] is the distance of a[:i] and b[:j]
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
