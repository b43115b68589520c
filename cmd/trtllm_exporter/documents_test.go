package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// written is one line of a document that somebody is to type.
type written struct{ file, line string }

// commandsOf are the lines of all blocks of code in the documents that begin
// with one of the words, and what is between backquotes and begins with them.
func commandsOf(t *testing.T, words ...string) []written {
	t.Helper()
	var all []written
	inline := regexp.MustCompile("`([^`\n]+)`")
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		inBlock := false
		var kept strings.Builder
		take := func(line string) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			for _, word := range words {
				if strings.HasPrefix(line, word+" ") && line != word+" " {
					all = append(all, written{file, line})
				}
			}
		}
		joined := strings.ReplaceAll(string(text), "\\\n", " ")
		for line := range strings.Lines(joined) {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "```"):
				inBlock = !inBlock
			case inBlock:
				take(line)
			default:
				kept.WriteString(line)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(kept.String(), -1) {
			take(m[1])
		}
	}
	return all
}

// documents are those for users.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../CONTRIBUTING.md"}
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	require.Greater(t, len(files), 15)
	return files
}

// typed are the arguments of a line, without what a shell makes of it.
func typed(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " &")
	var args []string
	for word := range strings.FieldsSeq(line) {
		args = append(args, strings.Trim(word, `'"`))
	}
	return args
}

// TestTheCommandsOfTheDocumentsCanBeMeant has the program read every command
// line of the documents, and runs those that end by themselves, against a
// simulated server where they name one.
func TestTheCommandsOfTheDocumentsCanBeMeant(t *testing.T) {
	fleet, err := simulate.StartFleet(t.Context(), demoFleet(1, 1))
	require.NoError(t, err)
	defer fleet.Close()
	server := fleet.Pools()[0].Replicas[0]
	file := filepath.Join(t.TempDir(), "trtllm_exporter.yml")
	require.NoError(t, os.WriteFile(file, []byte("pools:\n  - pool_id: p\n    static_configs: [ { targets: ["+server.MetricsAddr()+"] } ]\n"), 0o600))
	names := regexp.MustCompile(`^(https?://)?(HOST:PORT|[\w.-]+:80\d\d|URL)(/metrics)?$`)
	files := regexp.MustCompile(`^(FILE|[\w./-]+\.yml)$`)
	seen := 0
	for _, c := range commandsOf(t, program, "bin/"+program) {
		args := typed(c.line)[1:]
		t.Run(filepath.Base(c.file)+": "+strings.Join(args, " "), func(t *testing.T) {
			for i, a := range args {
				flag, value, has := strings.Cut(a, "=")
				if !has || !strings.HasPrefix(flag, "--") {
					flag, value = "", a
				}
				switch {
				case names.MatchString(value):
					value = server.MetricsURL()
				case files.MatchString(value):
					value = file
				}
				if args[i] = value; flag != "" {
					args[i] = flag + "=" + value
				}
			}
			app, _, _ := commandLine(io.Discard, io.Discard)
			ended := false
			app.Terminate(func(int) { ended = true })
			chosen, err := app.Parse(args)
			if ended {
				return
			}
			require.NoError(t, err)
			if len(args) == 1 && chosen != "rules" {
				return // It names the command.
			}
			switch chosen {
			case "doctor", "scrape", "rules", "check-config":
				var out, problems bytes.Buffer
				require.LessOrEqual(t, run(args, &out, &problems), exitMissing, "%v\n%s%s", args, out.String(), problems.String())
			}
		})
		seen++
	}
	require.Greater(t, seen, 20, "the documents have commands")
}

// TestTheMakeTargetsOfTheDocumentsExist asks make for a plan of each.
func TestTheMakeTargetsOfTheDocumentsExist(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	for _, c := range commandsOf(t, "make") {
		target := typed(c.line)[1]
		require.Regexp(t, `(?m)^`+regexp.QuoteMeta(target)+`:`, string(makefile), "%s: %s", c.file, c.line)
	}
}

// TestTheLinksOfTheDocumentsLead looks for every file that they name, and its
// section.
func TestTheLinksOfTheDocumentsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") {
				continue
			}
			path, anchor, _ := strings.Cut(to, "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s: %s", file, to)
			if anchor != "" && strings.HasSuffix(target, ".md") {
				require.Contains(t, anchors(t, target), anchor, "%s: %s", file, to)
			}
		}
	}
}

// anchors are the sections of a document, as links name them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []string
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestThePictureOfTheReadmeIsSmall keeps it quick to load.
func TestThePictureOfTheReadmeIsSmall(t *testing.T) {
	for _, theme := range []string{"light", "dark"} {
		info, err := os.Stat("../../docs/images/incident-" + theme + ".png")
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(200_000))
	}
}
