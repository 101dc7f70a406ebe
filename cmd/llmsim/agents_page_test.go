package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// The page on agents shows what its commands print and draw, and says what comes out of them. With
// -update, figures and pictures are made anew; what has other words is for people to write.
func TestAgentsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates coding agents for hours")
	}
	dir := t.TempDir()
	showsOutput(t, "agents.md", dir, "")
	for picture, made := range map[string]string{
		"agents-memory.svg":  "memory/plots/output_throughput.svg",
		"agents-routing.svg": "routing/plots/output_throughput.svg",
	} {
		got := testkit.Read(t, filepath.Join(dir, made))
		testkit.SamePicture(t, filepath.Join("..", "..", "docs", "pictures", picture), got, *update)
	}
	rate := table(t, filepath.Join(dir, "memory"), "memory.cpu", "workload.arrivals.users",
		"output_throughput")
	for memory, most := range map[string]string{"1GiB": "48", "256GiB": "64", "512GiB": "80",
		"1TiB": "112", "1536GiB": "128"} {
		if !(rate[memory+" "+most] > 600) {
			t.Errorf("%s of host memory carries fewer than %s agents: %v", memory, most, rate)
		}
	}
	for _, beyond := range []string{"1GiB 64", "256GiB 80", "512GiB 96", "1TiB 128"} {
		if !(rate[beyond] < 0.5*rate["1536GiB "+strings.Fields(beyond)[1]]) {
			t.Errorf("%s is not beyond the cliff: %v", beyond, rate)
		}
	}
	ttft := table(t, filepath.Join(dir, "recompute"), "workload.prompt", "memory.cpu",
		"median_ttft_ms")
	for prompt, times := range map[string][2]float64{"1000": {1.5, 2}, "10000": {5.5, 6.5},
		"100000": {18, 22}} {
		gain := ttft[prompt+" 1GiB"] / ttft[prompt+" 4TiB"]
		if gain < times[0] || gain > times[1] {
			t.Errorf("fetching %s tokens is %v times as fast", prompt, gain)
		}
	}
	routed := table(t, filepath.Join(dir, "routing"), "routing", "workload.rate",
		"output_throughput")
	for _, router := range []string{"prefix-aware", "gateway-api", "llm-d", "dynamo"} {
		if gain := routed[router+" 30/s"] / routed["random 30/s"]; gain < 1.7 || gain > 2.2 {
			t.Errorf("%s carries %v times as much as random routing", router, gain)
		}
	}
}

// table reads a figure of a sweep by the values of two settings.
func table(t *testing.T, folder, first, second, figure string) map[string]float64 {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "results.csv"))
	testkit.OK(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	list := map[string]float64{}
	for _, row := range rows[1:] {
		key := row[column[first]] + " " + row[column[second]]
		if list[key], err = strconv.ParseFloat(row[column[figure]], 64); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
