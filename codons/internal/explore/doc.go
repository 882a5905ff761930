// Package explore has what the explorations of several codons share.
package explore
