package registry

// sum returns what no entry has: a browser has no registry, and its page is smaller without hashes.
func sum([]byte) string { return "none" }
