package budget

import "testing"

func TestEstimates(t *testing.T) {
	t.Parallel()
	cheap, nothing := 0.5, 0.0
	table := Prices{
		"claude-opus-*":      {Input: 5, Cached: &cheap, Output: 25},
		"claude-*":           {Input: 3, Output: 15},
		"GPT-5":              {Input: 1, Cached: &nothing, Output: 10},
		"*/qwen*-coder":      {Input: 0.1, Output: 0.2},
		"claude-opus-4-fast": {Input: 30, Output: 150},
	}
	mega := TokenUse{Input: 1e6, Cached: 2e6, Output: 1e6}
	for name, tc := range map[string]struct {
		table Prices
		model string
		used  TokenUse
		want  float64
		known bool
	}{
		"the pattern that fits":                {table, "claude-opus-4-8", mega, 31, true},
		"a whole name wins over a pattern":     {table, "claude-opus-4-fast", TokenUse{Output: 1e6}, 150, true},
		"cached like input, if nobody said":    {table, "claude-sonnet-5", mega, 24, true},
		"cached for nothing, if somebody did":  {table, "gpt-5", mega, 11, true},
		"in whatever case":                     {table, "Claude-Opus-5", TokenUse{Input: 1e6}, 5, true},
		"a star in the middle":                 {table, "openrouter/qwen3-coder", TokenUse{Input: 1e7}, 1, true},
		"a star does not fit less than stands": {table, "openrouter/qwen3", mega, 0, false},
		"an unknown model":                     {table, "gemini-3-pro", mega, 0, false},
		"a model that nobody named":            {table, "", mega, 0, false},
		"nobody named it, but all cost that":   {Prices{"*": {Input: 1, Output: 1}}, "", TokenUse{Input: 1e6}, 1, true},
		"no tokens were reported":              {table, "gpt-5", TokenUse{}, 0, false},
		"no prices":                            {nil, "gpt-5", mega, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // whatever the order of the table
				got, known := tc.table.Estimate(tc.model, tc.used)
				if known != tc.known || got < tc.want-1e-9 || got > tc.want+1e-9 {
					t.Fatalf("got %v %v, want %v %v", got, known, tc.want, tc.known)
				}
			}
		})
	}
}
