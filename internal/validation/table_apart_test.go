package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Published fleets and twins with multi-token prediction are found by what a row says of its server
// and its load, whatever times were measured, so that rows which nobody has seen are read alike.
func TestServersAreKnownByTheirLoad(t *testing.T) {
	const columns = "backend,model,gpu,precision,isl,osl,concurrency,prefill_tp,prefill_dp," +
		"decode_tp,decode_dp,prefill_workers,decode_workers,backend_version,month,ttft_ms,tpot_ms\n"
	for _, scale := range []float64{0.5, 1, 3} {
		text := columns
		for _, clients := range []int{4096, 1214, 7} {
			text += fmt.Sprintf("trtllm,deepseek-r1,b200_sxm,fp4,1024,1024,%d,1,4,1,8,,,,,%g,%g\n",
				clients, 300*scale, 20*scale)
		}
		for _, token := range []float64{10, 8, 9.5} {
			text += fmt.Sprintf("trtllm,deepseek-v3,b200_sxm,fp4,512,512,64,8,1,8,1,1,1,,,%g,%g\n",
				200*scale, token*scale)
		}
		table, err := readTable("silicon.csv", strings.NewReader(text))
		testkit.OK(t, err)
		survey := surveyApart(table)
		one, why := survey.fleet(&table.rows[0])
		if why != "" || one == nil || one.Decode != 1 || one.DecodeData != 8 {
			t.Errorf("times × %g: found %+v, %q", scale, one, why)
		}
		for i, want := range []string{"multi-token prediction was on",
			"the number of workers is not known, and no configuration published fits"} {
			if f, why := survey.fleet(&table.rows[1+i]); f != nil || why != want {
				t.Errorf("times × %g: found %+v, %q, want %q", scale, f, why, want)
			}
		}
		twins := speculativeTwins(table)
		if len(twins) != 1 || !twins[table.rows[4].line] {
			t.Errorf("times × %g: twins in lines %v, want the one with 0.8 times", scale, twins)
		}
	}
}
