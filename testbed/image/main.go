// Command image is the only program in the testbed's only image, and the maker of that image.
//
//	image archive FILE    writes an OCI archive with this very program in it
//	image [sleep TIME] [exit CODE]
//	                      what a container does: waits for TIME, or for a signal, and exits
//
// Without arguments it waits for a signal, which is what a sandbox needs.
// No registry is asked: containerd imports the archive.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	// name is what pods call the image.
	name = "testbed.berth.dev/image:1"
	// program is where this program lies in the image.
	program = "image"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "archive" {
		if err := archive(os.Args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "error: %v\n", err)
			os.Exit(1)
		}
		return
	}
	code, err := wait(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// wait does what a container's arguments say and returns its exit code.
func wait(args []string) (int, error) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	var end <-chan time.Time
	code := 0
	for len(args) > 0 {
		if len(args) == 1 {
			return 0, fmt.Errorf("%s takes a value", args[0])
		}
		switch args[0] {
		case "sleep":
			duration, err := time.ParseDuration(args[1])
			if err != nil {
				return 0, err
			}
			end = time.After(duration)
		case "exit":
			number, err := strconv.Atoi(args[1])
			if err != nil {
				return 0, err
			}
			code = number
		default:
			return 0, fmt.Errorf("unknown argument %s", args[0])
		}
		args = args[2:]
	}
	select {
	case <-stop:
	case <-end:
	}
	return code, nil
}

// A blob is a file of an OCI layout, named by its hash.
type blob struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	bytes       []byte
}

func newBlob(mediaType string, content []byte) blob {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	return blob{MediaType: mediaType, Digest: digest, Size: len(content), bytes: content}
}

func newJSON(mediaType string, value any) (blob, error) {
	content, err := json.Marshal(value)
	return newBlob(mediaType, content), err
}

func archive(path string) error {
	layer, err := newLayer()
	if err != nil {
		return err
	}
	config, err := newJSON("application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/" + program}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := newJSON("application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        config,
		"layers":        []blob{layer},
	})
	if err != nil {
		return err
	}
	manifest.Annotations = map[string]string{"io.containerd.image.name": name}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []blob{manifest}})
	if err != nil {
		return err
	}
	var files bytes.Buffer
	out := tar.NewWriter(&files)
	add(out, "oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`))
	add(out, "index.json", 0o644, index)
	for _, b := range []blob{layer, config, manifest} {
		add(out, "blobs/sha256/"+b.Digest[len("sha256:"):], 0o644, b.bytes)
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, files.Bytes(), 0o644)
}

// newLayer is uncompressed, so that its digest is also that of its content.
func newLayer() (blob, error) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return blob{}, err
	}
	var files bytes.Buffer
	out := tar.NewWriter(&files)
	add(out, program, 0o755, self)
	err = out.Close() // before the bytes are taken: it writes the end mark
	return newBlob("application/vnd.oci.image.layer.v1.tar", files.Bytes()), err
}

// add writes to memory; what goes wrong there is told by Close.
func add(out *tar.Writer, name string, mode int64, content []byte) {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := out.WriteHeader(header); err == nil {
		_, _ = out.Write(content)
	}
}
