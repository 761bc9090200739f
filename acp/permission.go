package acp

// Policy says how permission requests are answered. Nobody is asked and nothing
// waits: the process is confined by the operating system, or it is not.
type Policy int

const (
	// AllowAll allows everything, once rather than always.
	AllowAll Policy = iota
	// RejectWrites rejects tools that edit, delete or move files and allows the
	// rest, commands included.
	RejectWrites
)

const answerCancelled = "cancelled"

// permissionRequest is session/request_permission, read leniently.
type permissionRequest struct {
	SessionID string `json:"sessionId"`
	ToolCall  struct {
		Title string `json:"title"`
		Kind  string `json:"kind"`
	} `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose picks an option by its kind; its position and ID mean nothing. Without
// a usable one the answer is that the request was cancelled.
func (p Policy) choose(req permissionRequest) (option permissionOption, ok bool) {
	kinds := []string{"allow_once", "allow_always"}
	if p == RejectWrites && writes(req.ToolCall.Kind) {
		kinds = []string{"reject_once", "reject_always"}
	}
	for _, kind := range kinds {
		for _, option := range req.Options {
			if option.Kind == kind && option.ID != "" {
				return option, true
			}
		}
	}
	return permissionOption{Kind: answerCancelled}, false
}

// permissionAnswer is the result on the wire.
func permissionAnswer(option permissionOption, ok bool) any {
	outcome := map[string]any{"outcome": "cancelled"}
	if ok {
		outcome = map[string]any{"outcome": "selected", "optionId": option.ID}
	}
	return map[string]any{"outcome": outcome}
}
