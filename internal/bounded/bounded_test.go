package bounded

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestWhatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "four": "", "fives": "it has more than 4 bytes"} {
		data, err := Read(strings.NewReader(text), 4)
		if want != "" {
			check.Err(t, text, want, err)
			continue
		}
		check.OK(t, err)
		check.Equal(t, "data", text, string(data))
	}
	check.Equal(t, "a megabyte", "it has more than 8 MiB", TooLarge(Text).Error())
}
