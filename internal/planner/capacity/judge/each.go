package judge

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls f for all of a list at the same time, and returns the first error.
func Each[T any](ctx context.Context, list []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range list {
		group.Go(func() error { return f(ctx, v) })
	}
	return group.Wait()
}

// Indices lists the numbers below n.
func Indices(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
	}
	return list
}
