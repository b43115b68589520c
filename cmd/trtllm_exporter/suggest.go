package main

import (
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// unexpected matches kingpin's errors about unknown words.
var unexpected = regexp.MustCompile(`^(?:unknown (?:long|short) flag '|unexpected )([^']+)`)

// noDuration matches errors about durations, which do not name the flag.
var noDuration = regexp.MustCompile(`^time: .*duration "([^"]*)"$`)

// durationAdvice names the flag that has a value, and tells how durations are written.
func durationAdvice(args []string, value string) string {
	const like = ": a duration like 30s or 5m"
	for i, arg := range args {
		name, own, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(args) {
			own = args[i+1]
		}
		if own == value && strings.HasPrefix(name, "--") {
			return "; write " + name + like
		}
	}
	return ""
}

// usualNames maps what other programs call a flag to our name for it.
//
//nolint:gochecknoglobals // constant data.
var usualNames = map[string]string{
	"address":  "web.listen-address",
	"bind":     "web.listen-address",
	"c":        "config.file",
	"debug":    "log.level",
	"duration": "for",
	"f":        "config.file",
	"listen":   "web.listen-address",
	"port":     "web.listen-address",
	"server":   "target",
	"servers":  "target",
	"url":      "target",
	"v":        "version",
	"verbose":  "log.level",
	"web.port": "web.listen-address",
}

// suggestion returns a hint at the flag or command that was probably meant, empty if there is
// none.
func suggestion(app *kingpin.ApplicationModel, args []string, err error) string {
	if found := noDuration.FindStringSubmatch(err.Error()); found != nil {
		return durationAdvice(args, found[1])
	}
	found := unexpected.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	h := hints{app: app, command: commandOf(app, args), args: args}
	word := found[1]
	if !strings.HasPrefix(word, "-") {
		return h.argument(word)
	}
	if !strings.HasPrefix(word, "--") {
		// kingpin reads the letters after one dash as flags of their own.
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, word) })
		if i < 0 {
			return ""
		}
		word = args[i]
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return h.flag(name)
}

// commandOf returns the command of a command line, serve unless one is named.
func commandOf(app *kingpin.ApplicationModel, args []string) *kingpin.CmdModel {
	var chosen *kingpin.CmdModel
	for _, c := range app.Commands {
		if c.Default && chosen == nil || slices.Contains(args, c.Name) {
			chosen = c
		}
	}
	return chosen
}

// hints finds out what was meant in a command.
type hints struct {
	app     *kingpin.ApplicationModel
	command *kingpin.CmdModel
	args    []string
}

func (h *hints) flag(name string) string {
	own := h.flags(h.command)
	switch usual := usualNames[name]; {
	case slices.Contains(own, name):
		return didYouMean("--" + name)
	case usual != "" && slices.Contains(own, usual):
		return didYouMean("--" + usual)
	}
	if near := config.Nearest(name, own); near != "" {
		return didYouMean("--" + near)
	}
	if h.command.Name == "record" && h.hasWordBefore(name) {
		return "; write -- before the command that is recorded, as in: record --target HOST:PORT -- COMMAND"
	}
	if parts := config.PartlyNamed(name, own); len(parts) > 0 {
		return didYouMean("--" + strings.Join(parts[:min(2, len(parts))], " or --"))
	}
	for _, c := range h.app.Commands {
		if slices.Contains(h.flags(c), name) {
			return "; it is a flag of another command"
		}
	}
	key := strings.ReplaceAll(name, "-", "_")
	if blocks := config.Blocks(key); len(blocks) > 0 {
		return "; " + key + " is a key of " + blocks[0] + " in a configuration file"
	}
	return ""
}

// hasWordBefore reports whether an argument that is neither a flag nor the value of one stands between the command
// and a flag.
func (h *hints) hasWordBefore(name string) bool {
	var open bool // The argument before is a flag whose value comes.
	for _, arg := range h.args[slices.Index(h.args, h.command.Name)+1:] {
		given, isFlag := strings.CutPrefix(arg, "--")
		given, _, hasValue := strings.Cut(given, "=")
		switch {
		case isFlag && given == name:
			return false
		case isFlag:
			open = !hasValue && !h.isSwitch(given)
		case open:
			open = false
		default:
			return true
		}
	}
	return false
}

// isSwitch reports whether a flag of the command takes no value.
func (h *hints) isSwitch(name string) bool {
	i := slices.IndexFunc(h.command.Flags, func(f *kingpin.FlagModel) bool { return f.Name == name })
	return i >= 0 && h.command.Flags[i].IsBoolFlag()
}

// argument returns a hint for a word that is not a command and that the command does not take.
func (h *hints) argument(word string) string {
	var commands []string
	for _, c := range h.app.Commands {
		commands = append(commands, c.Name)
	}
	next := h.args[slices.Index(h.args, word)+1:]
	if len(next) > 0 && slices.Contains(commands, word+"-"+next[0]) {
		return didYouMean(word + "-" + next[0])
	}
	if near := config.Nearest(word, commands); near != "" {
		return didYouMean(near)
	}
	for _, command := range commands {
		if strings.HasPrefix(command, word+"-") {
			return didYouMean(command)
		}
	}
	own := h.flags(h.command)
	switch {
	case slices.Contains(own, word):
		return didYouMean("--" + word)
	case isConfigFile(word) && slices.Contains(own, "config.file"):
		return didYouMean("--config.file " + word)
	case isConfigFile(word) && slices.Contains(own, "values"):
		return didYouMean("--values " + word)
	case isServer(word) && slices.Contains(own, "target"):
		return didYouMean("--target " + word)
	}
	return ""
}

func isConfigFile(word string) bool {
	return slices.Contains([]string{".yml", ".yaml", ".json"}, filepath.Ext(word))
}

// isServer reports whether a word is an address without a password, which is not repeated.
func isServer(word string) bool {
	_, _, err := net.SplitHostPort(word)
	return (err == nil || strings.Contains(word, "://")) && !strings.Contains(word, "@")
}

// flags returns the names of the flags that a command takes.
func (h *hints) flags(c *kingpin.CmdModel) []string {
	var names []string
	for _, f := range slices.Concat(h.app.Flags, c.Flags) {
		names = append(names, f.Name)
	}
	return names
}

func didYouMean(words string) string { return "; did you mean " + words + "?" }
