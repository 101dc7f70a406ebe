package capacity

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// each calls f for all of a list at the same time, and returns the first error.
func each[T any](ctx context.Context, list []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, v := range list {
		group.Go(func() error { return f(ctx, v) })
	}
	return group.Wait()
}

// indices lists the numbers below n.
func indices(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = k
	}
	return list
}
