package probe

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
)

// WriteText prints the result to be read in a terminal: the last line is for scenarios.
func (r *Result) WriteText(out io.Writer) error {
	w := &strings.Builder{}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-22s"+format+"\n", append([]any{name}, args...)...)
	}
	row("host", "%.3g ± %.1f %%: times of an H100's host", r.Value, 100*r.Deviation)
	row("one at a time", "%s a token, of %d answers with %d tokens",
		units.FormatDuration(r.Measured), r.Single.Answers, r.Single.Tokens)
	row("typical host", "%s a token is predicted", units.FormatDuration(r.Typical))
	row("accelerator alone", "%s a token is predicted", units.FormatDuration(r.Alone))
	row(fmt.Sprint(r.Together.Users, " at once"), "%s a token, of %d answers; %s is predicted "+
		"with this host, %+.1f %%", units.FormatDuration(r.Together.Measured), r.Together.Answers,
		units.FormatDuration(r.Together.Predicted), 100*r.Together.off())
	row("rests on", "the step times of %s %s", r.Engine, r.Version)
	fmt.Fprintf(w, "\nhardware: {accelerator: %s, host: %.3g}\n", r.Accelerator, r.Value)
	_, err := io.WriteString(out, w.String())
	return err
}
