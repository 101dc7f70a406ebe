package calibration

import (
	"os"
	"strconv"
	"strings"
)

// ticks is processor time of the whole system, in units of its own: of any kind, idle, and what a
// hypervisor gave to others while this system wanted it.
type ticks struct{ all, idle, stolen float64 }

// systemTicks reads what the system counts; zeros where it does not say.
func systemTicks() ticks {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat: "cpu", then user, nice, system, idle, iowait, irq,
// softirq and steal (proc_stat(5)). What follows is part of those.
func parseTicks(text string) ticks {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return ticks{}
	}
	var t ticks
	for i, field := range fields[1:9] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return ticks{}
		}
		t.all += n
		switch i {
		case 3, 4: // waiting for input and output is idle, too
			t.idle += n
		case 7:
			t.stolen = n
		}
	}
	return t
}

// since returns the shares of processor time that were stolen since before, and that programs used.
func (t ticks) since(before ticks) (stolen, used float64) {
	all := t.all - before.all
	if all <= 0 {
		return 0, 0
	}
	stolen = (t.stolen - before.stolen) / all
	return stolen, 1 - stolen - (t.idle-before.idle)/all
}
