// Package exhaustive says whether the tests take minutes or seconds.
package exhaustive

import "os"

// Variable is the environment variable that make check-all sets.
const Variable = "RIBOSOME_EXHAUSTIVE"

// Enabled reports whether tests run their long forms: the largest explorations, and all
// combinations of faults. They then take many minutes. Without it, each test runs a
// reduced form of itself.
func Enabled() bool { return os.Getenv(Variable) != "" }
