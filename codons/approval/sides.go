package approval

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// verdictCommands are the contents of the commands of [ProposeTable].
func verdictCommands() map[string]any {
	return map[string]any{codons.CommandAccept: consent{}, codons.CommandReject: performatives.RejectProposal{}}
}

// approvalCommands are the contents of the commands of [Table].
func approvalCommands() map[string]any {
	all := verdictCommands()
	all[codons.CommandAgree] = nil
	return all
}
