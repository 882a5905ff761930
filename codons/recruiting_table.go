package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// RecruitingTable returns the codon of having others recruited, who answer the
// designated receiver themselves ([DeliveryTable]) (addenda §2 and §6).
func RecruitingTable() machine.Table {
	return exchange{
		name: "recruiting", title: "Recruiting",
		purpose: "One agent has another, the recruiter, find agents that can perform a task and have them do it. They deliver what comes of it " +
			"to the designated receiver, who is the first agent or a third. The recruiter refuses, or agrees, says who was recruited, " +
			"and ends when every delivery was confirmed or has failed, or with a failure when there is no match.",
		source:  "addenda §2 and §6; FIPA Recruiting Interaction Protocol (SC00034H)",
		opening: performatives.ActProxy, agree: true, reports: true,
		opened: "the agent wants something done by agents that it does not know, who are to answer the designated receiver",
		job:    "the recruiter finds the agents, delegates to them, and waits until they have delivered",
		answers: []answerAct{
			{commandAnswer, performatives.ActInform, stateAnswered, "who was recruited, and whose delivery was confirmed"},
		},
	}.table()
}
