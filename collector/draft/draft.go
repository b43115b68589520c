// Package draft writes a file that declares a kind of server from one page of such a server: names that end
// like those of built-in kinds, each with the reason. What is doubtful is commented out. The package must not
// send requests.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Server is what is known of a server besides its page.
type Server struct {
	// Extends is the built-in kind of the server, nil if it is none.
	Extends *engine.Kind
	// Paths are those that its API answered, Owner is who owns the models that it lists.
	Paths engine.DeclaredPaths
	Owner string
}

// Kind returns a file for the server of a page. It is valid as it is, unless it adds to a built-in kind and nothing on
// the page is certain, which it says: then it takes a line that is uncommented.
func Kind(page []byte, server Server) (string, error) {
	families, err := read(page)
	if err != nil {
		return "", err
	}
	families = slices.DeleteFunc(families, func(f family) bool {
		return ofLibrary(f.name) || strings.HasSuffix(f.name, "_created") || server.reads(f.name)
	})
	if len(families) == 0 && server.Extends != nil {
		return "", fmt.Errorf("the server is of the built-in kind %s, which reads every name on its page",
			server.Extends.Name)
	}
	if len(families) == 0 {
		return "", errors.New("the page has no names but those of libraries")
	}
	d := &draft{server: server, prefix: prefixOf(families)}
	d.name = nameOf(d.prefix)
	d.marks(families)
	d.guess(families)
	text := d.text()
	if _, err := config.ParseKinds("draft", []byte(d.completed(text))); err != nil {
		return "", fmt.Errorf("the draft of this page is not valid, which is a mistake of this program: %w", err)
	}
	return text, nil
}

// reads reports whether the server's built-in kind knows a name, or all that begin so.
func (s *Server) reads(name string) bool {
	if s.Extends == nil {
		return false
	}
	begins := func(mark string) bool { return strings.HasPrefix(name, mark) }
	watch := engine.Watch(s.Extends)
	return slices.ContainsFunc(s.Extends.Marks(), begins) || watch(name) || watch(name+"_bucket")
}

// ofLibrary reports whether a name is one that client libraries and frameworks add to any page.
func ofLibrary(name string) bool {
	return slices.ContainsFunc([]string{"python_", "process_", "http_", "go_", "promhttp_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// draft is a file in the making.
type draft struct {
	server       Server
	name, prefix string
	// relative is the built-in kind that has most of the names, empty if none has many.
	relative engine.Name
	// countless is true if the page declares no counters, so that gauges may be some.
	countless bool
	// mark is a beginning of names that stands for the prefix, if that cannot be one.
	mark, markWhy string
	guesses       []guess
	// labels and rank are labels that may name a model or a rank.
	labels, ranks []string
	// rest are names of which nothing was guessed.
	rest []string
}

// completed returns the text with a series, if it has none and needs one.
func (d *draft) completed(text string) string {
	if d.certain() || d.server.Extends == nil {
		return text
	}
	series := guess{series: engine.DeclaredSeries{Name: "chosen", Signal: engine.RequestsRunning.String()}}
	return strings.Replace(text, listsSeries, listsSeries+"      - "+series.yaml()+"\n", 1)
}

// certain reports whether anything is.
func (d *draft) certain() bool {
	return slices.ContainsFunc(d.guesses, func(g guess) bool { return g.doubt == "" })
}

// prefixOf returns what most names begin with, up to a colon or else an underscore.
func prefixOf(families []family) string {
	for _, separator := range []string{":", "_"} {
		counts := map[string]int{}
		best := ""
		for _, f := range families {
			begin, _, ok := strings.Cut(f.name, separator)
			if !ok {
				continue
			}
			begin += separator
			counts[begin]++
			if counts[begin] > counts[best] || counts[begin] == counts[best] && begin < best {
				best = begin
			}
		}
		if 2*counts[best] > len(families) {
			return longer(best, families)
		}
	}
	return ""
}

// longer returns a prefix with the words that nearly all names with it go on with.
func longer(prefix string, families []family) string {
	const few = 5 // Too few to tell what they have in common from what they mean.
	for {
		counts, all, best := map[string]int{}, 0, ""
		for _, f := range families {
			if rest, ok := strings.CutPrefix(f.name, prefix); ok {
				word, _, _ := strings.Cut(rest, "_")
				counts[word]++
				all++
				if counts[word] > counts[best] {
					best = word
				}
			}
		}
		if all < few || 10*counts[best] < 9*all {
			return prefix
		}
		prefix += best + "_"
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf returns a name for a kind whose names begin with a prefix.
func nameOf(prefix string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(prefix), "-"), "-")
	if name == "" {
		return unnamed
	}
	return name
}

// marks makes sure that name and prefix are allowed.
func (d *draft) marks(families []family) {
	if d.server.Extends != nil {
		return
	}
	for _, name := range []string{d.name, "my-" + d.name} {
		if d.name = name; d.declare() == nil {
			return
		}
	}
	such := ""
	for _, f := range families {
		if d.mark = f.name; d.declare() == nil {
			such = ", such as " + f.name + " if only this kind of server has it"
			break
		}
	}
	d.mark, d.markWhy = "choose_a_mark_", "doubtful: no beginning of names is this server's alone; choose one"+such+
		", or set engine in the pool"
	if d.prefix == "" || d.declare() != nil {
		d.name = unnamed
	}
}

// unnamed is the name of a kind of which no name tells one.
const unnamed = "my-server"

// declare returns what is wrong with the draft, with further series.
func (d *draft) declare(more ...engine.DeclaredSeries) error {
	declared := engine.Declaration{
		Name:          d.name,
		Prefix:        d.prefix,
		Paths:         d.server.Paths,
		ModelsOwnedBy: d.server.Owner,
	}
	if d.mark != "" {
		declared.Marks = []string{d.mark}
	}
	if d.server.Extends != nil {
		declared = engine.Declaration{Extends: string(d.server.Extends.Name), Prefix: d.prefix}
	}
	for i := range d.guesses {
		if d.guesses[i].doubt == "" {
			declared.Series = append(declared.Series, d.guesses[i].series)
		}
	}
	declared.Series = append(declared.Series, more...)
	_, err := engine.Declare([]engine.Declaration{declared})
	return err
}

// text returns the file.
func (d *draft) text() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Drafted from a page. Read each line: a name may mean something else here. What is doubtful is commented out.")
	if !d.certain() {
		say("# Nothing on this page is certain: uncomment or add what is right.")
	}
	say("# docs/kinds.md lists keys and signals; check-config --page compares the file with a page.")
	say("kinds:")
	if d.server.Extends != nil {
		say("  - extends: %s", d.server.Extends.Name)
	} else {
		say("  - name: %s", d.name)
	}
	if d.prefix != "" {
		say("    prefix: %s # begins most names of the page", quoted(d.prefix))
	}
	if d.mark != "" {
		say("    marks: [%s] # %s", quoted(d.mark), d.markWhy)
	}
	d.sayAPI(say)
	for _, label := range d.labels {
		say("    # model_labels: [%s] # doubtful: a label of some series, whose name says model", quoted(label))
	}
	for _, label := range d.ranks {
		say("    # rank_label: %s # doubtful: a label with this name has data-parallel ranks elsewhere", quoted(label))
	}
	d.saySeries(say)
	if len(d.rest) > 0 {
		say("# Nothing was guessed of: %s.", strings.Join(d.rest, ", "))
	}
	return b.String()
}

// sayAPI writes what was found of the API.
func (d *draft) sayAPI(say func(string, ...any)) {
	if d.server.Extends != nil {
		return
	}
	var parts []string
	for _, p := range []struct{ key, path string }{
		{"page", d.server.Paths.Page},
		{"health", d.server.Paths.Health},
		{"models", d.server.Paths.Models},
		{"version", d.server.Paths.Version},
	} {
		if p.path != "" {
			parts = append(parts, p.key+": "+quoted(p.path))
		}
	}
	if len(parts) == 0 {
		say("    # paths: { health: /health, models: /v1/models } # doubtful: nothing answered there")
		return
	}
	say("    paths: { %s } # these answered", strings.Join(parts, ", "))
	if d.server.Owner != "" {
		say("    models_owned_by: %s # the first listed model is", quoted(d.server.Owner))
	}
	if d.server.Paths.Models != "" {
		say("    # openai: true # doubtful: it lists models; whether it answers as OpenAI's API was not tried")
	}
}

// listsSeries is the line above the series.
const listsSeries = "    series:\n"

func (d *draft) saySeries(say func(string, ...any)) {
	say(listsSeries[:len(listsSeries)-1]) // Also if all are doubtful, so that a line of those needs no other to change.
	for i := range d.guesses {
		g := &d.guesses[i]
		begin, why := "      - ", g.why
		if g.doubt != "" {
			begin, why = "      # - ", strings.Replace("doubtful: "+g.doubt+"; "+g.why, "?; ", "? ", 1)
		}
		say("%s%s # %s", begin, g.yaml(), why)
	}
}

var plainWord = regexp.MustCompile(`^[a-zA-Z_/][a-zA-Z0-9_/.-]*$`)

// quoted returns a text as YAML has it.
func quoted(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plainWord.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return fmt.Sprintf("%q", text)
}

// yaml returns the series of a guess as an entry of a list.
func (g *guess) yaml() string {
	s := &g.series
	parts := []string{"name: " + quoted(s.Name), "signal: " + s.Signal}
	for _, ours := range sortedKeys(s.Labels) {
		parts = append(parts, fmt.Sprintf("labels: { %s: %s }", ours, quoted(s.Labels[ours])))
	}
	if s.Factor != nil {
		parts = append(parts, fmt.Sprintf("factor: %g", *s.Factor))
	}
	if s.Combine != "" {
		parts = append(parts, "combine: "+string(s.Combine))
	}
	if s.WhenEnded {
		parts = append(parts, "when_ended: true")
	}
	if s.Class != "" {
		parts = append(parts, "class: "+string(s.Class))
	}
	if s.StatusCodes {
		parts = append(parts, "status_codes: true")
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
