package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// validateFiles checks that the files that keys name can be read and that no
// key refers to a secret store, which is not supported. It reads
// the printed document, so that no key of a room is forgotten.
func (f *File) validateFiles() error {
	var doc yaml.Node
	if err := doc.Encode(f); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return filesOf(&doc, "", "")
}

// filesOf checks the files below one node; key is the one it is the value of.
func filesOf(n *yaml.Node, path, key string) error {
	var errs []error
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			below := join(path, name)
			if isChosen(key) {
				name = ""
			}
			errs = append(errs, filesOf(n.Content[i+1], below, name))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			errs = append(errs, filesOf(item, path+"["+strconv.Itoa(i)+"]", key))
		}
	case yaml.ScalarNode:
		isHeaderFile := key == "files" && strings.Contains(path, ".http_headers")
		switch {
		case n.Value == "" || n.ShortTag() == "!!null":
		case strings.HasSuffix(key, "_ref"):
			errs = append(errs, fmt.Errorf("%s: secret stores are not supported; use %s_file", path, strings.TrimSuffix(key, "_ref")))
		case strings.HasSuffix(key, "_file") || isHeaderFile:
			errs = append(errs, checkFile(path, n.Value))
		}
	default:
	}
	return errors.Join(errs...)
}

// isChosen reports whether the names in the mapping of a key are the operator's own: one
// that ends as the keys of files do says nothing of its value.
func isChosen(key string) bool {
	return slices.Contains([]string{"labels", "model_ids", "endpoint_params", "claims", "proxy_connect_header"}, key)
}

// checkFile says why a file cannot be read.
func checkFile(path, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w; correct the name or create the file", path, err)
	case info.IsDir():
		return fmt.Errorf("%s: %s is a folder; name a file", path, name)
	case !info.Mode().IsRegular():
		return nil
	}
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w; let the user of the exporter read the file", path, err)
	}
	return in.Close()
}
