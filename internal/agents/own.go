package agents

import (
	"iter"
)

// Remedy is what to do where there is no agent.
const Remedy = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local model server such as Ollama, or install an agent (for example: npm install -g opencode-ai)"

// Own returns the agents that are a part of ralph and ask a model, the one to prefer first.
func Own() []Preset {
	return those(func(p Preset) bool { return p.Needs != Nothing })
}

// Ready returns the first of ralph's own agents that has what it needs. A server is looked for only if there is no key.
func (f Finder) Ready() (Preset, bool) {
	for p := range f.AllReady() {
		return p, true
	}
	return Preset{}, false
}

// AllReady are ralph's own agents that have what they need, the one to prefer first. Each is looked at when it is asked for.
func (f Finder) AllReady() iter.Seq[Preset] {
	return func(yield func(Preset) bool) {
		for _, known := range Own() {
			p, err := f.Preset(known.Name) // the user may have given it a key
			if err == nil && p.Needs != Nothing && f.Has(p) && !yield(p) {
				return
			}
		}
	}
}

// Has reports whether an agent has what it needs, as far as that can be told without starting it.
func (f Finder) Has(p Preset) bool {
	env, _ := f.environment(p)
	switch p.Needs {
	case Key:
		return len(Credentials(p, env)) > 0
	case Server:
		return f.Serves != nil && f.Serves(env)
	case Nothing:
	}
	return true
}
