package acp

import "slices"

const answerCancelled = "cancelled"

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

// allow picks the option that allows the call, once rather than always, by its kind: its
// position and ID mean nothing. Nobody is asked and nothing waits: the operating system
// confines the process, or nothing does. Without a usable option the answer is that the
// request was cancelled.
func (r permissionRequest) allow() (option permissionOption, ok bool) {
	for _, kind := range []string{"allow_once", "allow_always"} {
		i := slices.IndexFunc(r.Options, func(o permissionOption) bool { return o.Kind == kind && o.ID != "" })
		if i >= 0 {
			return r.Options[i], true
		}
	}
	return permissionOption{Kind: answerCancelled}, false
}

func permissionAnswer(option permissionOption, ok bool) any {
	outcome := map[string]string{"outcome": answerCancelled}
	if ok {
		outcome = map[string]string{"outcome": "selected", "optionId": option.ID}
	}
	return map[string]any{"outcome": outcome}
}
