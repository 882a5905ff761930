package swarm

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/performatives"
)

// verify runs both scripts and returns the result of the task. TestsPassed is true only
// if the original failed as reported and the fixed script ended as expected.
func verify(ctx context.Context, d pydebug.Diagnosis, f Finding, report func(string)) (performatives.InformResult, error) {
	report("running the original and the fixed script")
	v, err := pydebug.Verify(ctx, pydebug.VerifyOptions{
		Original: f.OriginalCode, Fixed: d.FixedCode, ErrorType: d.ErrorType, ExitCode: d.ExitCode,
	})
	switch {
	case errors.Is(err, pydebug.ErrNoPython):
		f.Analysis = "The fix was not verified: there is no python3 here."
		return inform(performatives.StatusSuccess, d.Summary, f), nil
	case err != nil:
		return performatives.InformResult{}, err
	case !v.Reproduced:
		f.Analysis = fmt.Sprintf("The fix was not verified: run here, the original %s, not with %s.", ending(v.Original), d.ErrorType)
		return inform(performatives.StatusSuccess, d.Summary, f), nil
	case !v.Passed:
		return stillFails(f, v), nil
	}
	passed := true
	f.TestsPassed = &passed
	return inform(performatives.StatusSuccess, d.Summary, f), nil
}

// stillFails returns the result for a fix that failed its run: a failure, with the diff
// in the analysis.
func stillFails(f Finding, v pydebug.VerifyResult) performatives.InformResult {
	passed := false
	f.TestsPassed = &passed
	f.Analysis = fmt.Sprintf("This change was tried and taken back, because the script then %s:\n%s", ending(v.Fixed), f.Diff)
	f.FixedCode, f.Diff, f.Explanation, f.Confidence = "", "", "", 0
	return inform(performatives.StatusFailure, "A fix was tried and did not work.", f)
}

func ending(r pydebug.RunResult) string {
	switch {
	case r.TimedOut:
		return "did not end in time"
	case r.ErrorType != "":
		return "ended with " + r.ErrorType
	}
	return fmt.Sprintf("ended with exit code %d", r.ExitCode)
}
