// Package explore has the code that the explorations of several codons share.
package explore
