package validation

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/workload/lengths"
)

const servedHeader = "server,engine,engine_version,model,gpu,dtype,tp,load,users_or_rate," +
	"isl_mean,isl_dist,osl_mean,osl_dist,requests,ttft_ms,ttft_stat,tpot_ms,tpot_stat," +
	"output_tok_s,flags,note,layout\n"

// servedRow is a row of the server of that name, under a load.
func servedRow(server, load string) string {
	return server + ",vllm,0.7.3,llama-3.1-8b,a100-80gb-sxm,bf16,1," + load +
		",200,,64,,16,50,p50,10,p50,,,,\n"
}

// servedIn returns a folder with a table of such rows.
func servedIn(rows ...string) fs.FS {
	return fstest.MapFS{"served_rows.csv": {Data: []byte(servedHeader + strings.Join(rows, ""))}}
}

func predicted(t *testing.T, p accuracy.Physics, folders ...fs.FS) map[string]float64 {
	t.Helper()
	data, err := Read(folders...)
	testkit.OK(t, err)
	report, err := data.Compare(context.Background(), p)
	testkit.OK(t, err)
	all := map[string]float64{}
	for i := range report.Tables {
		table := &report.Tables[i]
		if len(table.Problems)+len(table.Skipped) > 0 {
			t.Fatalf("left out: %q, %v", table.Problems, table.Skipped)
		}
		for _, c := range table.Rows {
			all[c.Server+" "+c.Case+" "+c.Quantity] = c.Predicted
		}
	}
	return all
}

// A slow host slows the servers of its source down, and no other one, at any load.
func TestAServerHasItsOwnHost(t *testing.T) {
	for _, load := range []string{"users,4", "rate,2", "once,16"} {
		folder := servedIn(servedRow("one:a", load), servedRow("two:a", load))
		plain := predicted(t, accuracy.Physics{}, folder)
		slow := predicted(t,
			accuracy.Physics{Hosts: map[string]float64{"one/a100-80gb-sxm": 8}}, folder)
		if len(plain) != 4 || len(slow) != 4 {
			t.Fatalf("%s: %v, %v: want TTFT and TPOT of two servers", load, plain, slow)
		}
		for name, was := range plain {
			if own := strings.HasPrefix(name, "one:"); own && slow[name] <= was ||
				!own && slow[name] != was {
				t.Errorf("%s: %g ms, and %g with the slow host of one", name, was, slow[name])
			}
		}
	}
}

// Where the client calls the engine in its process, a request passes no HTTP server: its first
// token comes earlier by what the preset's requests take, and the others as before.
func TestCallsInProcessPassNoServer(t *testing.T) {
	row := servedRow("one:a", "users,1")
	called := strings.TrimSuffix(row, ",\n") + "\"in-process engine, no HTTP\",\n"
	plain, in := predicted(t, accuracy.Physics{}, servedIn(row)),
		predicted(t, accuracy.Physics{}, servedIn(called))
	v0, err := steptime.FindEngine("vllm-v0")
	testkit.OK(t, err)
	for name, before := range plain {
		saved := before - in[name]
		if ttft := strings.HasSuffix(name, "TTFT p50"); ttft && saved < 1e3*float64(v0.Request) ||
			!ttft && saved != 0 || len(in) != len(plain) {
			t.Errorf("%s: %.2f ms, and %.2f ms of calls", name, before, in[name])
		}
	}
}

// Tables in two folders are predicted as in one, and so is a row wherever it stands.
func TestFoldersAddUp(t *testing.T) {
	first, second := servedRow("one", "users,4"), servedRow("two", "once,16")
	both := predicted(t, accuracy.Physics{}, servedIn(first), servedIn(second))
	one := predicted(t, accuracy.Physics{}, servedIn(second, first))
	if len(both) != 4 || len(one) != 4 {
		t.Fatalf("%v in two folders, %v in one: want four figures", both, one)
	}
	for name, value := range both {
		if one[name] != value {
			t.Errorf("%s: %g in two folders, %g in one", name, value, one[name])
		}
	}
}

// Lengths under a law have the mean of the row, wherever they are cut.
func TestLengthsKeepTheirMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		longest := rapid.IntRange(64, 4096).Draw(t, "longest")
		mean := rapid.IntRange(16, longest*3/4).Draw(t, "mean")
		cv := rapid.Float64Range(0.2, 1.5).Draw(t, "coefficient of variation")
		table := &table{kind: &kind{}, columns: map[string]int{"isl_mean": 0, "isl_dist": 1}}
		law := "lognormal " + fmt.Sprintf("%g max %d", cv, longest)
		r := &row{table: table, fields: []string{fmt.Sprint(mean), law}}
		length := r.length("isl", 1, 0)
		if r.err != nil {
			t.Fatal(r.err)
		}
		d, err := lengths.LogNormal(length.Mean, length.CV, 1, length.Max)
		if err != nil || math.Abs(d.Mean()/float64(mean)-1) > 0.01 || length.Max != longest {
			t.Fatalf("%v gives %+v: mean %g, want %d (%v)", law, length, d.Mean(), mean, err)
		}
	})
}

// A row that cannot be understood is malformed, and says in which column; one that cannot be
// predicted is left out.
func TestServedRowsSayWhatIsWrong(t *testing.T) {
	plain := servedRow("one", "once,4")
	for row, want := range map[string]string{
		servedRow("one", "sessions,4"):               "load: found",
		servedRow("one", "users,0"):                  "users_or_rate and requests",
		servedRow("", "users,4"):                     "server is empty",
		strings.Replace(plain, "0,,64", "0,x,64", 1): "isl_dist: found",
		strings.Replace(plain, ",,\n", ",,5P\n", 1):  "5P is not known",
	} {
		data, err := Read(servedIn(row))
		testkit.OK(t, err)
		report, err := data.Compare(t.Context(), accuracy.Physics{})
		testkit.OK(t, err)
		table := &report.Tables[0]
		if len(table.Rows) > 0 {
			t.Errorf("%q is predicted", row)
		}
		said := strings.Join(table.Problems, "\n")
		for why := range table.Skipped {
			said += why
		}
		if !strings.Contains(said, want) {
			t.Errorf("%q: %q, want %q", row, said, want)
		}
	}
}
