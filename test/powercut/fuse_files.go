//go:build linux

package powercut

import (
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

func (s *served) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	if in.Flags&syscall.O_TRUNC != 0 && len(n.data) > 0 {
		if errno := s.change(Write, n, ""); errno != 0 {
			return fuse.Status(errno)
		}
		n.write(write{})
	}
	n.opened++
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return fuse.OK
}

func (s *served) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[in.NodeId]; n != nil {
		n.opened--
		s.release(n)
	}
}

func (s *served) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return nil, status
	}
	start := min(in.Offset, uint64(len(n.data)))
	return fuse.ReadResultData(buf[:copy(buf, n.data[start:])]), fuse.OK
}

func (s *served) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return 0, status
	}
	if errno := s.change(Write, n, ""); errno != 0 {
		return 0, fuse.Status(errno)
	}
	n.write(write{int(in.Offset), append([]byte{}, data...)})
	return uint32(len(data)), fuse.OK
}

func (s *served) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	n, done, status := s.begin(in.NodeId)
	defer done()
	switch end := int(in.Offset + in.Length); {
	case !status.Ok():
		return status
	case in.Mode != 0:
		return fuse.Status(syscall.EOPNOTSUPP)
	case end > len(n.data):
		if errno := s.change(Write, n, ""); errno != 0 {
			return fuse.Status(errno)
		}
		n.write(write{offset: end})
	}
	return fuse.OK
}

func (s *served) sync(kind Kind, id uint64) fuse.Status {
	n, done, status := s.begin(id)
	defer done()
	if !status.Ok() {
		return status
	}
	if errno := s.change(kind, n, ""); errno != 0 {
		if !s.dead {
			n.lose()
		}
		return fuse.Status(errno)
	}
	s.flush(n)
	return fuse.OK
}

func (s *served) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return s.sync(Sync, in.NodeId)
}

func (s *served) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return s.sync(SyncDir, in.NodeId)
}

func (s *served) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (s *served) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	dir, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	list := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: dir.inode}, {Name: "..", Mode: syscall.S_IFDIR, Ino: dir.parent.inode}}
	for _, name := range slices.Sorted(maps.Keys(dir.entries)) {
		n := dir.entries[name]
		list = append(list, fuse.DirEntry{Name: name, Mode: n.meta.mode, Ino: n.inode})
	}
	for i := range list {
		list[i].Off = uint64(i + 1)
	}
	s.lastList++
	s.lists[s.lastList] = list
	out.Fh = s.lastList
	return fuse.OK
}

func (s *served) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	_, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	list := s.lists[in.Fh]
	for _, e := range list[min(in.Offset, uint64(len(list))):] {
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

func (s *served) ReleaseDir(in *fuse.ReleaseIn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, in.Fh)
}

func (s *served) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{Blocks: 1 << 20, Bfree: 1 << 19, Bavail: 1 << 19, Files: 1 << 20, Ffree: 1 << 19, Bsize: 4096, Frsize: 4096, NameLen: 255}
	return fuse.OK
}
