package hardware_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/hardware"
)

// The catalogue finds accelerators by any of their names.
func Example() {
	catalog, err := hardware.Load()
	if err != nil {
		log.Fatal(err)
	}
	a, err := catalog.Accelerator("h100")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.2f TB/s, %.0f TFLOP/s in bf16\n", a.Title, a.Bandwidth/1e12,
		a.Peak[hardware.BF16]/1e12)
	// Output: NVIDIA H100 SXM5 80 GB: 3.35 TB/s, 989 TFLOP/s in bf16
}
