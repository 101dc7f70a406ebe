// Command mutation changes the simulator's sources, one small change at a time, and counts how many
// changes the short tests of the changed package notice. Sources are replaced by an overlay, so
// that the tree stays as it is, and the changes of a package are built to one program that is told
// which of them to run. It is a module of its own, since it starts Go and tests nothing that llmsim
// does for its users.
//
// Mutants are drawn by a seed, the commit's unless another is given, so that each commit tries
// others and a run can be repeated.
//
// What was caught of 15 mutants each when they were last drawn, with the seed; those that are held
// equivalent do not count:
//
//	sim                                 13  7306
//	metrics                             17  7305 (of 20)
//	policies/batching                   13  7306
//	policies/memory                     12  7306
//	policies/routing                    13  7303
//	policies/scaling                    19  7305 (of 20)
//	policies/speculation                13  7306
//	models/steptime                     13  7303
//	hardware                            12  7309
//	internal/planner/stats              14  8101
//	internal/planner/capacity/judge     12  8505
//	internal/planner/capacity/candidate 12  8101
//	internal/planner/capacity/asked     14  8507
//	internal/planner/capacity/answer    15  8508
//	internal/planner/capacity/detail    15  8501
//	internal/planner/compare            13  9201
//	internal/planner/sweep              14  9204
//	internal/planner/tuning             13  9202
//	internal/planner/queue              36  21003 (of 40)
//	internal/planner                    14  9203
//	scenarios/deployment                15  9312
//	scenarios/evidence                  15  9311
//	internal/strict                     13  8101
//	workload                            47  31011 (of 55)
//	workload/arrivals                   12  7401
//	workload/lengths                    14  7401
//	workload/reuse                      14  7401
//	workload/trace                      49  31012 (of 55)
//	internal/training                   13  9314
//	internal/twin/observed              12  8101
//	internal/twin/drift                 12  8101
//	internal/twin/fit                   12  8101
//	internal/twin/formats               18  8281 (of 20)
//	internal/records                    12  8101
//	internal/telemetry                  15  9462 (of 18)
//	internal/load                       15  9461 (of 18)
//	internal/serve                      13  9316
//	internal/serve/openai               24  8271 (of 30)
//	internal/report                     13  7551
//	internal/report/diagnosis           14  9463 (of 18)
//	internal/report/lesson              16  9462 (of 18)
//	internal/report/page                12  9464
//	internal/report/plots               13  7541
//	internal/report/timeline            12  7551
//	internal/launch                     18  8251 (of 20)
//	internal/launch/options             18  8203 (of 20)
//	internal/launch/commands            28  8211 (of 30)
//	internal/launch/engines             18  8281 (of 20)
//	internal/launch/manifests           26  8211 (of 30)
//
// The other parts of internal/planner/capacity are tested by simulations of whole plans, in the
// package above them: try these with -tests internal/planner/capacity, which takes minutes a
// mutant.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rooms are the packages that are tried.
var rooms = []string{"sim", "metrics", "policies/...", "models/steptime", "hardware",
	"workload/...", "scenarios/...", "internal/planner/...", "internal/training",
	"internal/twin/...", "internal/records", "internal/report/...", "internal/launch/...",
	"internal/serve/...", "internal/telemetry", "internal/load"}

func main() {
	n := flag.Int("n", 12, "mutants to try in each package, besides those that do not build")
	seed := flag.Uint64("seed", 0, "draws the mutants; 0 takes the seed from the commit")
	root := flag.String("root", filepath.Join("..", ".."), "root of the tree")
	only := flag.String("only", "", "try the mutants at this FILE:LINE alone, all of them")
	tests := flag.String("tests", "", "run the short tests of this PACKAGE, in place of those of "+
		"the changed one")
	flag.Parse()
	s := *seed
	if s == 0 {
		s = commit(*root)
	}
	r := runner{root: *root, n: *n, seed: s, only: *only, tests: *tests, out: os.Stdout}
	if flag.NArg() > 0 {
		rooms = flag.Args()
	}
	if err := r.run(context.Background(), rooms); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// commit returns a seed made from the commit of the tree; 1 without one.
func commit(root string) uint64 {
	out, err := exec.Command("git", "-C", root, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return 1
	}
	seed, err := strconv.ParseUint(strings.TrimSpace(string(out)), 16, 64)
	if err != nil {
		return 1
	}
	return cmp.Or(seed, 1)
}

// table writes a line for each package, and the survivors of all.
func table(w io.Writer, counts []count) {
	fmt.Fprintf(w, "\n%-28s %7s %8s %9s %10s %9s %7s\n", "package", "killed", "survived",
		"timed out", "equivalent", "unbuilt", "caught")
	for _, c := range counts {
		caught, tried := c.of[killed]+c.of[timedOut], c.of[killed]+c.of[timedOut]+c.of[survived]
		share := "-"
		if tried > 0 {
			share = fmt.Sprintf("%.0f %%", 100*float64(caught)/float64(tried))
		}
		fmt.Fprintf(w, "%-28s %7d %8d %9d %10d %9d %7s   (%v)\n", c.name, c.of[killed],
			c.of[survived], c.of[timedOut], c.of[equivalent], c.of[unbuilt], share,
			c.took.Round(time.Second))
	}
	for _, c := range counts {
		for _, m := range c.survivors {
			fmt.Fprintf(w, "survived: %s\n", m)
		}
	}
}
