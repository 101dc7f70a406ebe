package kernels

import "golang.org/x/sys/unix"

// page is the size of a huge page on amd64 and (with 4 KiB base pages) arm64.
const page = 2 << 20

// allocate maps anonymous memory, in huge pages unless it is small.
func allocate(size int) ([]byte, error) {
	if size >= page {
		size = (size + page - 1) / page * page
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if size >= page {
		// Advice only: a kernel that does not take it gives memory that is slower at first or
		// throughout, not wrong.
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE)
		// or the first step to touch a page would pay for clearing it
		_ = unix.Madvise(data, unix.MADV_POPULATE_WRITE)
	}
	return data, nil
}

func release(data []byte) error { return unix.Munmap(data) }
