package sandbox

import "fmt"

// Report is what Detect found.
type Report struct {
	Level Level
	// Reasons says, a sentence for each better level, why it is not available.
	Reasons []string
}

// Detect finds the best level, up to most, that works on this machine. It takes
// some milliseconds; callers keep the answer.
func Detect(most Level) Report {
	return best(most, func(level Level) error { return layout{Level: level}.try() })
}

// DetectFor finds the best level, up to that of the profile, at which it holds: a
// mount in the wrong place may make one impossible that the machine has. The
// error is for a profile that holds at no level, whatever the machine.
func DetectFor(p Profile) (Report, error) {
	if p.Level == None {
		return Detect(None), nil
	}
	if _, err := p.layout(); err != nil {
		return Report{}, err
	}
	return best(p.Level, func(level Level) error {
		p.Level = level
		l, err := p.layout()
		if err != nil {
			return err
		}
		return l.try()
	}), nil
}

func best(most Level, try func(Level) error) Report {
	var r Report
	for level := Namespaces; level > None; level-- {
		if level > most {
			r.Reasons = append(r.Reasons, fmt.Sprintf("%s: not asked for", level))
			continue
		}
		err := try(level)
		if err == nil {
			r.Level = level
			break
		}
		r.Reasons = append(r.Reasons, fmt.Sprintf("%s: %v", level, err))
	}
	return r
}
