//go:build !js

package registry

import (
	"crypto/sha256"
	"encoding/hex"
)

// sum returns the SHA-256 of the contents of an entry, in hexadecimal.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
