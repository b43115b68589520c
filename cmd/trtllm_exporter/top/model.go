package top

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Options are what a screen needs.
type Options struct {
	Client *Client
	// Every is the time between two questions.
	Every  time.Duration
	Choice Choice
	// Guide is said while there is no answer yet; empty says nothing.
	Guide string
}

// model is what the screen shows and what keys have asked for. It is changed by
// its Update alone.
type model struct {
	opts   Options
	choice Choice
	fleet  *web.Fleet
	// failure is why the last question had no answer, last when one came.
	failure error
	last    time.Time
	rows    []web.Replica
	// chosen names the replica under the cursor, which stays with it when rows move;
	// a cursor that was not moved from the top stays there.
	chosen string
	moved  bool
	from   int
	// part says which lines of the table are shown; empty while all are.
	part   string
	typing bool
	detail *detailView

	width, height int
}

// answer is what an exporter said of its fleet, closer what it said of a replica.
type (
	answer struct {
		fleet *web.Fleet
		err   error
		at    time.Time
	}
	closer struct {
		key    string
		detail *web.Detail
		err    error
	}
	again struct{}
)

// Run shows the fleet until the reader quits or ctx ends.
func Run(ctx context.Context, opts Options, settings ...tea.ProgramOption) error {
	m := newModel(opts)
	_, err := tea.NewProgram(m, append(settings, tea.WithContext(ctx))...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	return err
}

func newModel(opts Options) *model {
	return &model{opts: opts, choice: opts.Choice, width: 80, height: 24}
}

// Init asks for the first time.
func (m *model) Init() tea.Cmd { return m.ask }

// ask asks the exporter for its fleet.
func (m *model) ask() tea.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fleet, _, err := m.opts.Client.Fleet(ctx)
	return answer{fleet, err, time.Now()}
}

// askFor asks the exporter for one replica.
func (m *model) askFor(key string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		detail, err := m.opts.Client.Detail(ctx, key)
		return closer{key, detail, err}
	}
}

// Update takes what happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case answer:
		m.failure = msg.err
		if msg.err == nil {
			m.fleet, m.last = msg.fleet, msg.at
			m.arrange()
		}
		return m, tea.Tick(m.opts.Every, func(time.Time) tea.Msg { return again{} })
	case closer:
		if m.detail != nil && m.detail.key == msg.key {
			m.detail.take(msg.detail, msg.err)
		}
	case again:
		if m.detail != nil {
			return m, tea.Batch(m.ask, m.askFor(m.detail.key))
		}
		return m, m.ask
	case tea.PasteMsg:
		if m.typing {
			m.search(m.choice.Text + Plain(msg.Content))
		}
	case tea.KeyPressMsg:
		cmd := m.press(msg)
		return m, cmd
	}
	return m, nil
}

// press does what a key means where the reader is.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case m.typing:
		m.write(name, k.Text)
		return nil
	case m.detail != nil:
		return m.pressInDetail(name)
	}
	switch name {
	case "q", "esc":
		if name == "esc" && (m.choice.Text != "" || m.choice.Wrong) {
			m.choice.Wrong = false
			m.search("")
			return nil
		}
		return tea.Quit
	case "s", "S":
		m.turn(map[string]int{"s": 1, "S": -1}[name])
	case "e":
		m.choice.Wrong = !m.choice.Wrong
		m.arrange()
	case "/":
		m.typing = true
	case "enter", "right", "l":
		if m.chosen != "" {
			m.detail = &detailView{key: m.chosen}
			return m.askFor(m.chosen)
		}
	default:
		m.move(name)
	}
	return nil
}

// write edits the text of the filter.
func (m *model) write(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.search("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.choice.Text)
		m.search(m.choice.Text[:len(m.choice.Text)-size])
	case "ctrl+u":
		m.search("")
	default:
		m.search(m.choice.Text + Plain(text))
	}
}

// search takes what has a text.
func (m *model) search(text string) {
	m.choice.Text = text
	m.arrange()
}

// turn goes to another order.
func (m *model) turn(by int) {
	all := Orders()
	at := max(slices.Index(all, m.choice.Order), 0)
	m.choice.Order = all[(at+by+len(all))%len(all)]
	m.arrange()
}

// arrange makes the rows again, and keeps the cursor on its replica, or, when that
// is not among them, near its place.
func (m *model) arrange() {
	if m.fleet == nil {
		return
	}
	place := m.place()
	m.rows = m.choice.take(m.fleet.Replicas)
	if m.grouped() {
		var rows []web.Replica
		for i := range m.fleet.Pools {
			rows = append(rows, ofPool(m.rows, m.fleet.Pools[i].PoolID)...)
		}
		m.rows = rows
	}
	if !m.moved {
		m.choose(0)
	} else if !slices.ContainsFunc(m.rows, func(r web.Replica) bool { return key(&r) == m.chosen }) {
		m.choose(place)
	}
}

// grouped reports whether rows are under their pools.
func (m *model) grouped() bool { return m.choice.order() == worstFirst }

// place is the number of the row under the cursor.
func (m *model) place() int {
	return max(slices.IndexFunc(m.rows, func(r web.Replica) bool { return key(&r) == m.chosen }), 0)
}

// choose puts the cursor on a row.
func (m *model) choose(place int) {
	m.chosen = ""
	if len(m.rows) > 0 {
		m.chosen = key(&m.rows[min(max(place, 0), len(m.rows)-1)])
	}
}

// move moves the cursor.
func (m *model) move(name string) {
	if by := steps(name, max(m.height-8, 1), len(m.rows)); by != 0 {
		m.choose(m.place() + by)
		m.moved = m.place() > 0
	}
}

// steps is how many lines a key goes on, of so many on a page and in all; 0 for a
// key that goes nowhere.
func steps(name string, page, all int) int {
	return map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "pgdown": page, "ctrl+f": page, "space": page,
		"home": -all, "g": -all, "end": all, "G": all,
	}[name]
}
