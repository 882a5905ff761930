package approval

import (
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// verdictCommands are the contents of the commands of [ProposeTable].
func verdictCommands() map[string]any {
	return map[string]any{standard.CommandAccept: consent{}, standard.CommandReject: performatives.RejectProposal{}}
}

// approvalCommands are the contents of the commands of [Table].
func approvalCommands() map[string]any {
	all := verdictCommands()
	all[standard.CommandAgree] = nil
	return all
}
