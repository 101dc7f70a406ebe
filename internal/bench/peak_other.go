//go:build !unix

package bench

import "os"

// peak returns 0, since the system does not tell how much memory a process had.
func peak(*os.ProcessState) int64 { return 0 }
