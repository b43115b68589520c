package account

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// subject is a model of a pool, with the ledgers of all replicas of the pool that have it.
type subject struct {
	pool, id string
	ledgers  []*ledger
}

// modelsOf returns the models that worked, all if none did.
func modelsOf(ledgers []*ledger) []subject {
	type key struct{ pool, model string }
	found, worked := make(map[key][]*ledger), make(map[key]bool)
	for _, l := range ledgers {
		for model, did := range l.models() {
			k := key{l.PoolID, model}
			found[k] = append(found[k], l)
			worked[k] = worked[k] || did
		}
	}
	anyWorked := slices.Contains(slices.Collect(maps.Values(worked)), true)
	var all []subject
	for k, of := range found {
		if worked[k] || !anyWorked {
			all = append(all, subject{k.pool, k.model, of})
		}
	}
	slices.SortFunc(all, func(a, b subject) int {
		return cmp.Or(strings.Compare(a.pool, b.pool), strings.Compare(a.id, b.id))
	})
	return all
}

// models returns the models of a replica, and whether they worked.
func (l *ledger) models() map[string]bool {
	all := make(map[string]bool)
	for _, c := range l.counters {
		if c.family != gpuEnergy {
			all[c.model] = all[c.model] || c.grown > 0
		}
	}
	for model, points := range l.points {
		for _, p := range points {
			all[model] = all[model] || p.values[running] > 0 || p.values[active] > 0 || p.values[queue] > 0
		}
	}
	if len(all) > 1 { // What a shell counts without saying for which model, the engine inside counts, too.
		delete(all, unknownModel)
	}
	return all
}

// unknownModel is the model_id of series that name no model.
const unknownModel = "unknown"

// summary computes figures of a stretch of time.
type summary struct {
	from, to    time.Time
	interrupted []Interruption
	// empty is why nothing lies between from and to, empty if something does; left is true if what was before is
	// left out.
	empty string
	left  bool
}

// figures returns the figures of models. GPUs are of whole servers: they count only if all is asked for.
func (s *summary) figures(models []subject, all bool) Figures {
	v := s.view(models)
	f := Figures{AtLeast: v.lost, Absent: make(map[string]string)}
	b := builder{figures: &f, view: v}
	b.counts()
	b.speeds()
	b.levels()
	b.times()
	b.shares()
	if all {
		b.energy()
	}
	if len(f.Absent) == 0 {
		f.Absent = nil
	}
	return f
}

// view is what figures are computed from.
type view struct {
	models   []subject
	from, to time.Time
	// Why is why nothing may be averaged, whole why nothing is known. Both are empty usually.
	why, whole string
	// lost is true if counts are lower bounds.
	lost bool
}

func (s *summary) view(models []subject) *view {
	v := &view{models: models, from: s.from, to: s.to, why: s.empty, lost: s.unread(models)}
	if s.left {
		v.whole = s.empty
	}
	several, known := "", false
	for _, m := range models {
		for _, l := range m.ledgers {
			bad := false
			for _, i := range s.interrupted {
				if i.PoolID != l.PoolID || i.ReplicaID != l.ReplicaID {
					continue
				}
				v.why = cmp.Or(v.why, i.sentence())
				v.lost = v.lost || i.lossy || i.Kind.loses()
				if i.Kind == Processes {
					bad, several = true, i.sentence()
				}
			}
			known = known || !bad
		}
	}
	if !known {
		v.whole = cmp.Or(v.whole, several)
	}
	return v
}

// unread reports whether a replica was never read that may have one of the models.
func (s *summary) unread(models []subject) bool {
	return slices.ContainsFunc(s.interrupted, func(i Interruption) bool {
		return i.unread && slices.ContainsFunc(models, func(m subject) bool { return m.pool == i.PoolID })
	})
}

// sentence names an interruption in one line.
func (i *Interruption) sentence() string {
	return i.PoolID + "/" + i.ReplicaID + " at " + i.From.Format(time.TimeOnly) + ": " + i.Reason
}

// seconds returns how long the stretch is.
func (v *view) seconds() float64 { return v.to.Sub(v.from).Seconds() }

// counting returns the ledgers that have something and are not of a tier, or else those of that tier: a
// router and the servers behind it count the same requests.
func (m *subject) counting(without engine.Tier, has func(l *ledger) bool) []*ledger {
	var wanted, others []*ledger
	for _, l := range m.ledgers {
		switch {
		case !has(l):
		case l.tier == without:
			others = append(others, l)
		default:
			wanted = append(wanted, l)
		}
	}
	if len(wanted) > 0 {
		return wanted
	}
	return others
}

// grown returns how much the counters of a family grew, by part. ok is false if a model lacks it.
func (v *view) grown(family string, without engine.Tier) (parts map[string]float64, ok bool) {
	parts, ok = make(map[string]float64), len(v.models) > 0
	for i := range v.models {
		ok = v.models[i].addGrown(parts, family, without) && ok
	}
	return parts, ok
}

// addGrown adds how much the counters of a family of a model grew. ok is false if it lacks the family.
func (m *subject) addGrown(parts map[string]float64, family string, without engine.Tier) (ok bool) {
	for _, l := range m.counting(without, func(l *ledger) bool { return l.has(family, m.id) }) {
		for _, c := range l.counters {
			if c.family == family && c.model == m.id {
				parts[c.part] += c.grown
				ok = true
			}
		}
	}
	return ok
}

// total returns the growth of a family that clients see or, of models without it, of the next one.
func (v *view) total(families ...string) (sum float64, ok bool) {
	ok = len(v.models) > 0
	for i := range v.models {
		parts, shown := make(map[string]float64), false
		for _, family := range families {
			if shown = v.models[i].addGrown(parts, family, engine.TierWorker); shown {
				break
			}
		}
		for _, n := range parts {
			sum += n
		}
		ok = ok && shown
	}
	return sum, ok
}

func (l *ledger) has(family, model string) bool {
	for _, c := range l.counters {
		if c.family == family && c.model == model && c.seen {
			return true
		}
	}
	return false
}

// reason returns why a capability is missing, empty if all replicas have it.
func (v *view) reason(capability string) string {
	for _, m := range v.models {
		ofModel := ""
		if len(v.models) > 1 {
			ofModel = m.id + ": "
		}
		for _, l := range m.ledgers {
			for _, c := range l.capabilities {
				if c.Name == capability && !c.OK {
					return ofModel + c.Reason + cureText(c.Cure)
				}
			}
		}
	}
	return ""
}

func cureText(cure string) string {
	if cure == "" {
		return ""
	}
	return "; " + cure
}
