package dag

// What tests outside the package need to see of the inside.

// Statements are those whose cost is promised, by the name of what they do.
func Statements() map[string]string {
	return map[string]string{
		"claim, all":                           claimAllSQL,
		"claim, all, keep going":               claimAllKeepGoingSQL,
		"claim, feature":                       claimFeatureSQL,
		"claim, feature, keep going":           claimFeatureKeepGoingSQL,
		"claim, subtree":                       claimTreeSQL,
		"claim, all, skipping":                 claimAllSkipSQL,
		"claim, all, keep going, skipping":     claimAllKeepGoingSkipSQL,
		"claim, feature, skipping":             claimFeatureSkipSQL,
		"claim, feature, keep going, skipping": claimFeatureKeepGoingSkipSQL,
		"claim, subtree, skipping":             claimTreeSkipSQL,
		"usage of a run":                       usageOfRunSQL,
		"usage of a task":                      usageOfTaskSQL,
		"usage of a feature":                   usageOfFeatureSQL,
		"usage since":                          usageSinceSQL,
		"agents' limits":                       agentLimitsSQL,
		"waits for agents":                     agentWaitsSQL,
		"skipped, all":                         skippedAllSQL,
		"skipped, feature":                     skippedFeatureSQL,
		"lift waits":                           liftWaitsSQL,
		"forget waits":                         forgetAgentWaits,
		"clear waits":                          clearWaitsSQL,
		"ready, all":                           readySQL,
		"ready, feature":                       readyFeatureSQL,
		"ready, due":                           dueSQL,
		"count ready, all":                     readyAllSQL,
		"count ready, feature":                 readyCountFeatureSQL,
		"count ready, subtree":                 readyTreeSQL,
		"count statuses, feature":              tallyFeatureSQL,
		"count statuses, subtree":              tallyTreeSQL,
		"count groups, feature":                groupsFeatureSQL,
		"count waits, all":                     waitsAllSQL,
		"look up by ID":                        byIDSQL,
		"look up by prefix":                    byPrefixSQL,
		"look at children":                     childrenSQL,
		"carry flags down":                     flagSQL,
		"carry flags down, whole tree":         reflagSQL,
		"recount dependents":                   dependentsSQL,
		"move":                                 moveSQL,
		"check a claim":                        heldSQL,
		"heartbeat":                            heartbeatSQL,
		"reset a tree":                         resetTreeSQL,
		"hold dependents of a tree":            holdDependentsSQL,
		"free dependents of a tree":            freeDependentsSQL,
		"delete a tree":                        deleteTreeSQL,
		"give a tree to a feature":             setFeatureSQL,
		"what is claimed":                      claimedSQL,
		"last failure":                         lastFailureSQL,
		"search cycles, blockers":              blockerNumbersSQL,
		"search cycles, dependents":            dependentNumbersSQL,
		"search cycles, children":              childNumbersSQL,
		"blockers":                             blockersSQL,
		"dependents":                           dependantsSQL,
		"children":                             childTasksSQL,
		"list a feature":                       listFeatureSQL,
		"attempts of a task":                   attemptsSQL,
	}
}

// MoveTo is move, the one place where a status changes, without any verb.
func (g *Graph) MoveTo(id string, to Status, by Trigger) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	return g.move(t, to, by)
}
