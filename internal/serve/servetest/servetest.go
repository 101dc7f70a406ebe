// Package servetest serves simulations over HTTP for the tests of other packages.
package servetest

import (
	"context"
	"net"
	"testing"

	"github.com/llmsim/llmsim/internal/serve"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// At serves a simulation until the test ends, with that many simulated seconds in one second, and
// returns the address.
func At(t *testing.T, simulation *scenarios.Simulation, speed float64) string {
	t.Helper()
	service, err := serve.Open(serve.Options{Simulation: simulation.Config(),
		Models: simulation.Models(), Lengths: []int{5}, Speed: speed, Dialect: "vllm"})
	testkit.OK(t, err)
	listeners, err := serve.Listen("127.0.0.1:0", 0)
	testkit.OK(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx, []net.Listener{listeners[0]}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listeners[0].Addr().String()
}
