package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// validateFiles checks that configured files can be read, and rejects references to secret
// stores. It walks the marshaled document, which has the keys of all packages.
func (f *File) validateFiles() error {
	var doc yaml.Node
	if err := doc.Encode(f); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return validateFilesBelow(&doc, "", "")
}

// validateFilesBelow checks the files below a node, which is the value of key.
func validateFilesBelow(n *yaml.Node, path, key string) error {
	var errs []error
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			below := join(path, name)
			if slices.Contains([]string{
				"labels", "model_ids", "endpoint_params", "claims", "proxy_connect_header",
			}, key) {
				name = "" // The operator chose the name, so its suffix means nothing.
			}
			errs = append(errs, validateFilesBelow(n.Content[i+1], below, name))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			errs = append(errs, validateFilesBelow(item, path+"["+strconv.Itoa(i)+"]", key))
		}
	case yaml.ScalarNode:
		isHeaderFile := key == "files" && strings.Contains(path, ".http_headers")
		switch {
		case n.Value == "" || n.ShortTag() == "!!null":
		case strings.HasSuffix(key, "_ref"):
			errs = append(
				errs,
				fmt.Errorf("%s: secret stores are not supported; use %s_file", path, strings.TrimSuffix(key, "_ref")),
			)
		case strings.HasSuffix(key, "_file") || isHeaderFile:
			errs = append(errs, checkFile(path, n.Value))
		}
	default:
	}
	return errors.Join(errs...)
}

// checkFile checks the file of a key.
func checkFile(path, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		err = errors.Unwrap(err) // Without the name of the system call.
		return fmt.Errorf("%s: %s: %w; correct the name or create the file", path, name, err)
	case info.IsDir():
		return fmt.Errorf("%s: %s is a folder; name a file", path, name)
	case info.Size() > secret.MaxFile:
		return fmt.Errorf("%s: %s has %d bytes, and at most %d are read; name the right file", path, name,
			info.Size(), secret.MaxFile)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %s: %w", path, name, regular.ErrNoEnd)
	}
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w; let the user of the exporter read the file", path, err)
	}
	return in.Close()
}
