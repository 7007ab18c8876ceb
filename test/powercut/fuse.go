//go:build linux

package powercut

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount serves the volume at a folder until the function it returns is called.
func (v *Volume) Mount(dir string) (unmount func() error, err error) {
	server, err := fuse.NewServer(&served{RawFileSystem: fuse.NewDefaultRawFileSystem(), Volume: v, lists: map[uint64][]fuse.DirEntry{}}, dir, &fuse.MountOptions{
		FsName: "powercut", Name: "powercut", DirectMountStrict: true, MaxWrite: 1 << 20,
		DisableXAttrs: true, DisableReadDirPlus: true,
	})
	if err != nil {
		return nil, fmt.Errorf("mount through /dev/fuse: %w", err)
	}
	done := make(chan struct{})
	go func() {
		server.Serve()
		close(done)
	}()
	if err := server.WaitMount(); err != nil {
		return nil, err
	}
	return func() error {
		err := syscall.Unmount(dir, 0)
		for end := time.Now().Add(10 * time.Second); err == syscall.EBUSY && time.Now().Before(end); err = syscall.Unmount(dir, 0) {
			time.Sleep(time.Millisecond) // until killed processes have closed their files
		}
		if err != nil {
			return os.NewSyscallError("umount", err)
		}
		<-done
		return nil
	}, nil
}

// served is a volume as a FUSE file system. The kernel handles locks and mapped pages.
type served struct {
	fuse.RawFileSystem
	*Volume
	lists    map[uint64][]fuse.DirEntry // open folders, by handle
	lastList uint64
}

// long is how long the kernel may cache a name: all changes go through it.
const long = time.Hour

// begin locks the volume and returns a node, a function that unlocks it, and the status.
func (s *served) begin(id uint64) (*node, func(), fuse.Status) {
	s.mu.Lock()
	n := s.nodes[id]
	switch {
	case s.dead:
		return nil, s.mu.Unlock, fuse.EIO
	case n == nil:
		return nil, s.mu.Unlock, fuse.Status(syscall.ESTALE)
	}
	return n, s.mu.Unlock, fuse.OK
}

func (n *node) attr(out *fuse.Attr) {
	size := len(n.data) + len(n.target)
	*out = fuse.Attr{
		Ino: n.inode, Size: uint64(size), Blocks: uint64(size+511) / 512, Mode: n.meta.mode,
		Nlink: uint32(n.links), Blksize: 4096, Owner: fuse.Owner{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())},
	}
	if n.isDir() {
		out.Nlink++
	}
	out.SetTimes(&n.meta.mtime, &n.meta.mtime, &n.meta.ctime)
}

func (n *node) entry(out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(long)
	n.attr(&out.Attr)
}

func (s *served) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir, done, status := s.begin(h.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	n := dir.entries[name]
	if n == nil {
		return fuse.ENOENT
	}
	n.entry(out)
	return fuse.OK
}

func (s *served) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, done, status := s.begin(in.NodeId)
	defer done()
	if status.Ok() {
		n.attr(&out.Attr)
	}
	return status
}

func (s *served) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	size, resize := in.GetSize()
	kind := Attribute
	if resize {
		kind = Write
	}
	if errno := s.change(kind, n, ""); errno != 0 {
		return fuse.Status(errno)
	}
	if resize {
		n.write(write{offset: int(size)})
	}
	if mode, ok := in.GetMode(); ok {
		n.meta.mode = n.meta.mode&syscall.S_IFMT | mode&0o7777
	}
	if at, ok := in.GetMTime(); ok {
		n.meta.mtime = at
	}
	n.meta.ctime = time.Now()
	n.attr(&out.Attr)
	return fuse.OK
}

// add creates a node with a name.
func (s *served) add(kind Kind, parent uint64, name string, mode uint32, out *fuse.EntryOut) (*node, fuse.Status) {
	dir, done, status := s.begin(parent)
	defer done()
	if !status.Ok() {
		return nil, status
	}
	if len(name) > 255 {
		return nil, fuse.Status(syscall.ENAMETOOLONG)
	}
	if dir.entries[name] != nil {
		return nil, fuse.Status(syscall.EEXIST)
	}
	if errno := s.change(kind, dir, name); errno != 0 {
		return nil, fuse.Status(errno)
	}
	n := s.newNode(mode)
	s.set(dir, change{name: n})
	n.entry(out)
	return n, fuse.OK
}

func (s *served) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	_, status := s.add(Create, in.NodeId, name, in.Mode, out)
	return status
}

func (s *served) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	_, status := s.add(Mkdir, in.NodeId, name, syscall.S_IFDIR|in.Mode&0o7777, out)
	return status
}

func (s *served) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	n, status := s.add(Create, h.NodeId, name, syscall.S_IFLNK|0o777, out)
	if status.Ok() {
		s.mu.Lock()
		n.target = target
		s.mu.Unlock()
	}
	return status
}

func (s *served) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n, done, status := s.begin(h.NodeId)
	defer done()
	if !status.Ok() {
		return nil, status
	}
	return []byte(n.target), fuse.OK
}

func (s *served) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n, status := s.add(Create, in.NodeId, name, syscall.S_IFREG|in.Mode&0o7777, &out.EntryOut)
	if status.Ok() {
		s.mu.Lock()
		n.opened++
		s.mu.Unlock()
		out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	}
	return status
}

func (s *served) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	n := s.nodes[in.Oldnodeid]
	switch {
	case n == nil:
		return fuse.ENOENT
	case dir.entries[name] != nil:
		return fuse.Status(syscall.EEXIST)
	}
	if errno := s.change(Link, dir, name); errno != 0 {
		return fuse.Status(errno)
	}
	s.set(dir, change{name: n})
	n.entry(out)
	return fuse.OK
}

func (s *served) remove(kind Kind, parent uint64, name string) fuse.Status {
	dir, done, status := s.begin(parent)
	defer done()
	if !status.Ok() {
		return status
	}
	n := dir.entries[name]
	switch {
	case n == nil:
		return fuse.ENOENT
	case kind == Unlink && n.isDir():
		return fuse.Status(syscall.EISDIR)
	case kind == Rmdir && !n.isDir():
		return fuse.ENOTDIR
	case len(n.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	if errno := s.change(kind, dir, name); errno != 0 {
		return fuse.Status(errno)
	}
	s.set(dir, change{name: nil})
	return fuse.OK
}

func (s *served) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return s.remove(Unlink, h.NodeId, name)
}

func (s *served) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return s.remove(Rmdir, h.NodeId, name)
}

// The flags of renameat2.
const (
	renameNoReplace = 1
	renameExchange  = 2
)

func (s *served) Rename(_ <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	from, done, status := s.begin(in.NodeId)
	defer done()
	if !status.Ok() {
		return status
	}
	to := s.nodes[in.Newdir]
	n, old := from.entries[oldName], to.entries[newName]
	exchange := in.Flags&renameExchange != 0
	switch {
	case n == nil, exchange && old == nil:
		return fuse.ENOENT
	case old != nil && in.Flags&renameNoReplace != 0:
		return fuse.Status(syscall.EEXIST)
	case in.Flags&^(renameNoReplace|renameExchange) != 0:
		return fuse.EINVAL
	case old == n:
		return fuse.OK // two names of one file
	case exchange || old == nil:
	case old.isDir() && !n.isDir():
		return fuse.Status(syscall.EISDIR)
	case !old.isDir() && n.isDir():
		return fuse.ENOTDIR
	case len(old.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	if errno := s.change(Rename, from, oldName); errno != 0 {
		return fuse.Status(errno)
	}
	if !exchange {
		old = nil
	}
	if from == to {
		s.set(from, change{oldName: old, newName: n})
	} else { // each folder is flushed by itself
		n.links++ // so that it is not released in between
		s.set(from, change{oldName: old})
		s.set(to, change{newName: n})
		n.links--
	}
	return fuse.OK
}
