// Package story runs whole projects on several workers of ralph-temporal with a real Temporal server, kills what can be
// killed, and looks at what is left. It is a module of its own, as a server in memory takes minutes to compile; just temporal
// runs it. It needs Linux, git and the program temporal in PATH or in $TEMPORAL.
//
// Shorter and longer versions are set in the environment:
//
//	RALPH_TEMPORAL_TASKS=40 RALPH_TEMPORAL_KILLS=10   of TestKills, in about a minute
//	RALPH_TEMPORAL_SEED=N                             the same kills again
//	RALPH_TEMPORAL_MANY=1000                          attempts of TestTenThousand
//	RALPH_TEMPORAL_NOOPS=40                           tasks of TestOverhead
//	RALPH_TEMPORAL_AWAY=10                            seconds without a server
//	RALPH_STORY_KEEP=1                                leave the folder of a test that failed
package story
