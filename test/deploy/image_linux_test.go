package deploy

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// The image that the last stage of the Dockerfile describes runs from its OCI layout: as its
// user, with nothing in the root folder but the image's files, and all it writes in /data.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	written, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = written.AppendImage(buildImage(t))
	}
	if err != nil {
		t.Fatal(err)
	}

	root, config := unpack(t, dir)
	user, group := owner(t, config.User)
	if user == 0 || group == 0 {
		t.Errorf("the image runs as %s", config.User)
	}
	var settings []string
	for _, v := range config.Env {
		if strings.HasPrefix(v, "MEMENTO_") {
			settings = append(settings, v)
		}
	}
	configured(t, settings, "")
	accepts(t, config.Cmd...)

	cmd := exec.Command(config.Entrypoint[0], slices.Concat(config.Entrypoint[1:], config.Cmd, []string{"--json"})...)
	cmd.Env = append(slices.Clone(config.Env), "MEMENTO_ADDRESS=127.0.0.1:0", "MEMENTO_METRICS=127.0.0.1:0")
	inside := root // where the program's / is
	if os.Geteuid() == 0 {
		cmd.Dir = config.WorkingDir
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: group}}
	} else { // it runs in the folder instead of as the root of its own
		cmd.Path = filepath.Join(root, cmd.Path)
		cmd.Env = append(cmd.Env, "HOME="+root+"/data", "XDG_DATA_HOME="+root+"/data")
		inside = ""
	}
	before := files(t, root)
	s := start(t, cmd)
	if string(get(t, s.URL+"/readyz")) == "" {
		t.Error("it is not ready")
	}
	key, err := os.ReadFile(inside + s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.remember(t, strings.TrimSpace(string(key)))
	for _, name := range files(t, root) {
		if !slices.Contains(before, name) && !strings.HasPrefix(name, "data/") {
			t.Errorf("it has written %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "data/memento/memento.db")); err != nil {
		t.Error(err)
	}
}

// files returns what is in a folder.
func files(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // removed meanwhile
		}
		name, _ := filepath.Rel(root, p)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// buildImage does what the last stage of the Dockerfile says.
func buildImage(t *testing.T) v1.Image {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(read(t, "Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image is made from %s", last.BaseName)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	// What the first stage has made, by its path there.
	built := map[string]tar.Header{
		"/out/memento":                       {Typeflag: tar.TypeReg, Mode: 0o755},
		"/out/data":                          {Typeflag: tar.TypeDir, Mode: 0o755},
		"/out/tmp":                           {Typeflag: tar.TypeDir, Mode: 0o755},
		"/etc/ssl/certs/ca-certificates.crt": {Typeflag: tar.TypeReg, Mode: 0o644},
	}
	content := map[string][]byte{"/out/memento": program}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	config := v1.Config{ExposedPorts: map[string]struct{}{}, Volumes: map[string]struct{}{}}
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			h, ok := built[c.SourcePaths[0]]
			if !ok || len(c.SourcePaths) != 1 {
				t.Fatalf("the test does not know %s", c)
			}
			h.Name, h.Size = strings.TrimPrefix(c.DestPath, "/"), int64(len(content[c.SourcePaths[0]]))
			if c.Chown != "" {
				user, group := owner(t, c.Chown)
				h.Uid, h.Gid = int(user), int(group)
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content[c.SourcePaths[0]]); err != nil {
				t.Fatal(err)
			}
		case *instructions.EnvCommand:
			for _, v := range c.Env {
				config.Env = append(config.Env, v.Key+"="+v.Value)
			}
		case *instructions.UserCommand:
			config.User = c.User
		case *instructions.WorkdirCommand:
			config.WorkingDir = c.Path
		case *instructions.VolumeCommand:
			config.Volumes[c.Volumes[0]] = struct{}{}
		case *instructions.ExposeCommand:
			for _, port := range c.Ports {
				config.ExposedPorts[port+"/tcp"] = struct{}{}
			}
		case *instructions.EntrypointCommand:
			config.Entrypoint = c.CmdLine
		case *instructions.CmdCommand:
			config.Cmd = c.CmdLine
		default:
			t.Fatalf("the test does not know %s", c)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err == nil {
		image, err = mutate.ConfigFile(image, configFile(t, image, config))
	}
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func configFile(t *testing.T, image v1.Image, config v1.Config) *v1.ConfigFile {
	t.Helper()
	f, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	f = f.DeepCopy()
	f.OS, f.Architecture, f.Config = "linux", runtime.GOARCH, config
	return f
}

// owner parses the numbers of a user and a group, such as 65532:65532.
func owner(t *testing.T, text string) (user, group uint32) {
	t.Helper()
	u, g, _ := strings.Cut(text, ":")
	a, err := strconv.ParseUint(u, 10, 32)
	b, err2 := strconv.ParseUint(g, 10, 32)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return uint32(a), uint32(b)
}

// unpack reads the only image of an OCI layout and unpacks its files.
func unpack(t *testing.T, dir string) (root string, config v1.Config) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatal(manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	f, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	extracted := mutate.Extract(image)
	defer extracted.Close()
	for r := tar.NewReader(extracted); ; {
		h, err := r.Next()
		if err == io.EOF {
			return root, f.Config
		}
		if err != nil {
			t.Fatal(err)
		}
		place := filepath.Join(root, path.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(place, h.FileInfo().Mode())
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, data, h.FileInfo().Mode()))
			}
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(place, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
