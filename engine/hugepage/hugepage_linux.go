package hugepage

import "golang.org/x/sys/unix"

// page is the size of a huge page on amd64 and (with 4 KiB base pages) arm64.
const page = 2 << 20

// allocate maps anonymous memory and asks for huge pages; a kernel that has none to give still maps it. Small regions stay in
// ordinary pages.
func allocate(size int) ([]byte, error) {
	if size >= page {
		size = (size + page - 1) / page * page
	}
	data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	if size >= page {
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // advice only: without it the memory is slower, not wrong
	}
	return data, nil
}

func release(data []byte) error { return unix.Munmap(data) }
