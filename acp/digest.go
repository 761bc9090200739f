package acp

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
)

// maxDigested is how much JSON is looked into; what is larger is taken as it is.
const maxDigested = 64 << 10

// volatile members differ each time the same thing is done: IDs and times.
var volatile = map[string]bool{
	"callid": true, "toolcallid": true, "processid": true, "pid": true, "turnid": true, "sessionid": true, "terminalid": true,
	"requestid": true, "messageid": true, "itemid": true, "timestamp": true, "duration": true, "durationms": true, "elapsed": true,
	"elapsedms": true, "startedat": true, "startedatms": true, "completedat": true, "completedatms": true, "endedat": true,
	"endedatms": true, "finishedat": true, "walltime": true, "walltimeseconds": true,
}

// digest is a checksum of JSON without volatile members, empty for nothing. It is for
// noticing repetition, not for proving anything.
func digest(parts ...json.RawMessage) string {
	h, size := fnv.New64a(), 0
	for _, p := range parts {
		size += len(p)
		var v any
		if len(p) <= maxDigested && json.Unmarshal(p, &v) == nil {
			if plain, err := json.Marshal(stable(v)); err == nil {
				p = plain // with its members in order
			}
		}
		_, _ = h.Write(p) // never fails
	}
	if size == 0 {
		return ""
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func stable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = stable(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if volatile[strings.ToLower(strings.ReplaceAll(name, "_", ""))] {
				delete(v, name)
				continue
			}
			v[name] = stable(member)
		}
	}
	return v
}
