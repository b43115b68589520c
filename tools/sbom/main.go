// Command sbom writes an SPDX 2.3 document of a Go binary: what the linker noted
// in it, and nothing that it did not.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag" //nolint:depguard // This is a main of its own.
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	release := flags.String("version", "", "release of the binary")
	created := flags.String("time", "", "time of the document, as 2026-01-02T15:04:05Z")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *release == "" || *created == "" {
		return errors.New("give -version, -time and a binary")
	}
	doc, err := describe(flags.Arg(0), *release, *created)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

// document is an SPDX document with the fields that are used.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID               string     `json:"SPDXID"`
	Name             string     `json:"name"`
	Version          string     `json:"versionInfo"`
	Download         string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	LicenseConcluded string     `json:"licenseConcluded"`
	LicenseDeclared  string     `json:"licenseDeclared"`
	Copyright        string     `json:"copyrightText"`
	Source           string     `json:"sourceInfo,omitempty"`
	Checksums        []checksum `json:"checksums,omitempty"`
	Refs             []ref      `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Kind    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// describe reads the modules off a binary.
func describe(path, release, created string) (*document, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	own := module(info.Main.Path, "v"+release, "")
	own.ID, own.LicenseDeclared = "SPDXRef-binary", "Apache-2.0"
	own.Checksums = []checksum{{"SHA256", hash}}
	doc := &document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Name:      filepath.Base(path) + "-" + release,
		Namespace: "https://" + info.Main.Path + "/spdx/" + hash,
		Creation:  creation{created, []string{"Tool: " + info.Main.Path + "/tools/sbom"}},
		Packages:  []pkg{own},
		Relationships: []relationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", own.ID},
		},
	}
	add := func(p pkg) {
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, relationship{own.ID, "DEPENDS_ON", p.ID})
	}
	add(module("stdlib", info.GoVersion, ""))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		add(module(dep.Path, dep.Version, dep.Sum))
	}
	return doc, nil
}

// module is the package of a Go module. Its sum is that of go.sum, over the
// files of the module, and no checksum of one file.
func module(path, version, sum string) pkg {
	p := pkg{
		ID:   "SPDXRef-" + regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(path+"-"+version, "-"),
		Name: path, Version: version, Download: "NOASSERTION",
		LicenseConcluded: "NOASSERTION", LicenseDeclared: "NOASSERTION", Copyright: "NOASSERTION",
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
	if sum != "" {
		p.Source = "go.sum: " + sum
	}
	return p
}
