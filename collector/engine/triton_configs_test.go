package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// repository is a Triton with many models: experts, and a pipeline over some of them, whose names come
// last.
type repository struct {
	answers

	facts *engine.Facts
	asked []string
}

// newRepository returns a repository of experts, of which calls are steps of the pipeline.
func newRepository(experts int, calls ...string) *repository {
	r := &repository{answers: answers{"/v2": metadata}}
	for i := range experts {
		r.load(fmt.Sprintf("expert_%04d", i), `"backend":"onnxruntime"`)
	}
	steps := make([]string, len(calls))
	for i, name := range calls {
		steps[i] = fmt.Sprintf(`{"model_name":%q}`, name)
	}
	r.load("zz_pipeline", `"platform":"ensemble","ensemble_scheduling":{"step":[`+strings.Join(steps, ",")+`]}`)
	return r
}

// load adds a ready model.
func (r *repository) load(name, config string) {
	rows := strings.Trim(r.answers["/v2/repository/index"], "[]")
	if rows != "" {
		rows += ","
	}
	r.answers["/v2/repository/index"] = "[" + rows + fmt.Sprintf(
		`{"name":%q,"version":"1","state":"READY"}`,
		name,
	) + "]"
	r.answers["/v2/models/"+name+"/config"] = fmt.Sprintf(`{"name":%q,%s}`, name, config)
}

// even takes equally long for each answer, so that none is overtaken by all others.
type even struct{ engine.Client }

// Do implements engine.Client.
func (e even) Do(
	ctx context.Context, method, address string, body []byte, limit int64,
) (int, http.Header, []byte, error) {
	time.Sleep(time.Millisecond)
	return e.Client.Do(ctx, method, address, body, limit)
}

// round asks once more, given the models that are in use, the busiest first.
func (r *repository) round(t *testing.T, busy ...string) {
	t.Helper()
	rec := &recorder{Client: r.answers}
	synctest.Test(t, func(t *testing.T) {
		earlier := engine.Earlier{Facts: r.facts, Busy: busy}
		f := engineOf(t, engine.Triton).Ask(t.Context(), even{rec}, "http://server", earlier).Complete()
		r.facts, r.asked = f.WithEarlier(r.facts), nil
	})
	for path := range rec.bodies {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(path, "GET /v2/models/"), "/config"); ok {
			r.asked = append(r.asked, name)
		}
	}
	slices.Sort(r.asked)
}

// roles returns the roles of models.
func (r *repository) roles(t *testing.T, names ...string) (roles []engine.Role) {
	t.Helper()
	topology := engine.NewTopology(engineOf(t, engine.Triton), engine.NamedModels{}, r.facts.Models, nil)
	for _, name := range names {
		roles = append(roles, topology.Role(name))
	}
	return roles
}

func TestRoleIsUnknownUntilAllModelsWereAskedAbout(t *testing.T) {
	r := newRepository(100, "expert_0003", "expert_0090")
	models := []string{"zz_pipeline", "expert_0003", "expert_0090", "expert_0000"}
	r.round(t)
	require.Len(t, r.asked, 64)
	require.Equal(t, 37, r.facts.Unasked())
	require.Equal(
		t,
		slices.Repeat([]engine.Role{engine.RoleUnknown}, 4),
		r.roles(t, models...),
		"the pipeline may call any of them",
	)
	r.round(t)
	require.Contains(t, r.asked, "zz_pipeline")
	require.Zero(t, r.facts.Unasked())
	require.Equal(t, []engine.Role{
		engine.RoleEntry, engine.RolePart, engine.RolePart, engine.RoleSingle,
	}, r.roles(t, models...))
}

func TestModelsInUseAreAskedAboutFirst(t *testing.T) {
	r := newRepository(900, "expert_0700", "expert_0800")
	r.round(t, "zz_pipeline", "expert_0899")
	require.Len(t, r.asked, 64)
	for _, name := range []string{"zz_pipeline", "expert_0899", "expert_0700", "expert_0800"} {
		require.Contains(t, r.asked, name, "it is in use, or called by what is")
	}
	require.Equal(
		t,
		[]engine.Role{engine.RoleEntry, engine.RolePart},
		r.roles(t, "zz_pipeline", "expert_0700"),
		"these are known already",
	)
}

func TestModelThatComesIntoUseIsAskedAboutNext(t *testing.T) {
	r := newRepository(900)
	r.round(t, "expert_0500")
	require.NotContains(t, r.asked, "expert_0600")
	r.round(t, "expert_0500", "expert_0600")
	require.Contains(t, r.asked, "expert_0600")
	require.NotContains(t, r.asked, "expert_0500", "it was asked about in the round before")
}

func TestRoundsCoverAllModelsInTurn(t *testing.T) {
	r := newRepository(199)
	for r.round(t); r.facts.Unasked() > 0; {
		r.round(t)
	}
	times := make(map[string]int)
	for range 25 { // 25 rounds of 64 are 8 turns of 200.
		r.round(t, "expert_0001")
		require.Len(t, r.asked, 64)
		for _, name := range r.asked {
			times[name]++
		}
	}
	require.Len(t, times, 200)
	for name, n := range times {
		require.Equal(t, 8, n, name)
	}
}

func TestOneRoundIsEnoughForFewModels(t *testing.T) {
	r := newRepository(63)
	r.round(t)
	require.Len(t, r.asked, 64)
	require.Zero(t, r.facts.Unasked())
	require.Equal(t, []engine.Role{engine.RoleSingle}, r.roles(t, "expert_0000"))
}

func TestConfigWithoutAnswerWasAskedFor(t *testing.T) {
	r := newRepository(100)
	for i := range 100 {
		delete(r.answers, fmt.Sprintf("/v2/models/expert_%04d/config", i))
	}
	r.round(t)
	r.round(t)
	require.Zero(t, r.facts.Unasked(), "there is nothing to be learned by asking again")
	require.Equal(t, 1, configured(r.facts))
}

func TestModelThatIsLoadedLaterIsAskedAbout(t *testing.T) {
	r := newRepository(100)
	r.round(t)
	r.round(t)
	require.Zero(t, r.facts.Unasked())
	r.load("new", `"backend":"python"`)
	r.round(t)
	require.Contains(t, r.asked, "new")
	require.Zero(t, r.facts.Unasked())
}

func TestReadyModelsOfLargeIndexAreKept(t *testing.T) {
	r := newRepository(1100)
	rows := strings.Trim(r.answers["/v2/repository/index"], "[]")
	var unloaded strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&unloaded, `{"name":"old_%d","version":"1","state":"UNAVAILABLE","reason":"unloaded"},`, i)
	}
	r.answers["/v2/repository/index"] = "[" + unloaded.String() + rows + `,{"name":"broken","version":"1","state":"UNAVAILABLE","reason":"failed to load"}]`
	r.round(t)
	require.Len(t, r.facts.Models, 1101)
	require.NotNil(t, r.facts.Model("zz_pipeline"))
	h := engineOf(t, engine.Triton).Health(t.Context(), r.answers, "http://server")
	require.Len(t, h.Models, 1102, "the ready ones and that with a reason alone are more than the limit")
	require.Equal(t, map[string]int{"UNAVAILABLE": 2000}, h.LeftOut)
}

func TestRolesOfTooManyModelsStayUnknown(t *testing.T) {
	r := newRepository(0)
	var rows strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&rows, `{"name":"m%04d","version":"1","state":"READY"},`, i)
	}
	r.answers["/v2/repository/index"] = "[" + strings.TrimSuffix(rows.String(), ",") + "]"
	r.round(t)
	require.Len(t, r.facts.Models, 4096)
	for range 64 {
		r.round(t)
	}
	require.Zero(t, r.facts.Unasked())
	require.Equal(t, []engine.Role{engine.RoleUnknown}, r.roles(t, "m0000"), "one of those beyond may call it")
}

func TestBrokenModelOfLargeIndexIsKept(t *testing.T) {
	r := newRepository(3)
	rows := strings.Trim(r.answers["/v2/repository/index"], "[]")
	r.answers["/v2/repository/index"] = "[" + strings.Repeat(
		`{"name":"old","version":"1","state":"UNAVAILABLE","reason":"unloaded"},`,
		2000,
	) + rows + `,{"name":"broken","version":"1","state":"UNAVAILABLE","reason":"failed to load"}]`
	h := engineOf(t, engine.Triton).Health(t.Context(), r.answers, "http://server")
	require.Len(t, h.Models, 1024)
	require.Equal(t, "broken", h.Models[4].Name, "after the ready ones")
	require.Contains(t, h.Detail, "broken (failed to load)")
	require.Equal(t, map[string]int{"UNAVAILABLE": 981}, h.LeftOut)
}

// TestNextRoundIsEarlyWhileModelsWereNotAskedAbout compares the intervals of a ready server.
func TestNextRoundIsEarlyWhileModelsWereNotAskedAbout(t *testing.T) {
	var pacer engine.Pacer
	every := 30 * time.Second
	r := newRepository(100)
	r.round(t)
	require.Less(t, pacer.IdentityInterval(r.facts, engine.Signs{}, 0, every), every/4)
	r.round(t)
	require.Greater(t, pacer.IdentityInterval(r.facts, engine.Signs{}, 0, every), every)
}

// TestModelsInUseOfLargePage reads pages of many models: those with requests are in use, also if all of
// them fail.
func TestModelsInUseOfLargePage(t *testing.T) {
	parse := pages(t, engine.Triton)
	page := func(success, failed map[string]int) []string {
		var lines []string
		for i := range 100 {
			name := fmt.Sprintf("m%02d", i)
			lines = append(
				lines,
				fmt.Sprintf(`nv_inference_request_success{model=%q,version="1"} %d`, name, success[name]),
				fmt.Sprintf(
					`nv_inference_request_failure{model=%q,reason="BACKEND",version="1"} %d`,
					name,
					failed[name],
				),
			)
		}
		return lines
	}
	p := engine.ReadPage(engineOf(t, engine.Triton), parse(page(map[string]int{"m98": 5, "m97": 9}, nil)...))
	require.Equal(t, []string{"m97", "m98"}, p.Busy())
	require.False(t, p.Refresh(parse(page(map[string]int{"m98": 15, "m97": 9}, nil)...)), "the same models are in use")
	require.Equal(t, []string{"m98", "m97"}, p.Busy())
	more := page(map[string]int{"m98": 15, "m97": 9}, map[string]int{"m50": 20})
	require.True(t, p.Refresh(parse(more...)), "another model counts")
	require.Equal(t, []string{"m50", "m98", "m97"}, p.Busy())
	require.Equal(t, 20.0, p.Requests("m50", "1"))
	require.Zero(t, p.Requests("m00", ""))
	few := engine.ReadPage(
		engineOf(t, engine.Triton),
		pages(t, engine.Triton)(`nv_inference_request_success{model="m",version="1"} 0`),
	)
	require.Empty(t, few.Busy())
	require.Positive(t, few.Requests("m", ""), "among few models each counts as in use")
	require.Zero(t, few.Requests("other", ""))
}

// TestVersionsInUseOfLargePage reads a page of few models with many versions.
func TestVersionsInUseOfLargePage(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`nv_inference_request_success{model="m",version="%d"} %d`, i, i%2*i))
	}
	lines = append(lines, `nv_inference_request_success{model="idle",version="1"} 0`)
	p := engine.ReadPage(engineOf(t, engine.Triton), pages(t, engine.Triton)(lines...))
	require.Equal(t, []string{"m"}, p.Busy())
	require.Equal(t, 99.0, p.Requests("m", "99"))
	require.Zero(t, p.Requests("m", "98"))
	require.Zero(t, p.Requests("m", "100"), "it is not loaded")
	require.Equal(t, 2500.0, p.Requests("m", ""))
	require.Zero(t, p.Requests("idle", "1"))
}

func TestModelWhoseConfigIsNotAnsweredStaysUnknown(t *testing.T) {
	r := newRepository(100)
	r.answers["/v2/models/zz_pipeline/config"] = hangs
	synctest.Test(t, func(t *testing.T) {
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			earlier := engine.Earlier{Facts: r.facts, Busy: []string{"zz_pipeline"}}
			f := engineOf(t, engine.Triton).Ask(ctx, r.answers, "http://server", earlier).Complete()
			r.facts = f.WithEarlier(r.facts)
			cancel()
		}
	})
	require.Equal(t, 1, r.facts.Unasked())
	require.Equal(t, []engine.Role{engine.RoleUnknown}, r.roles(t, "expert_0000"), "the pipeline may call it")
}
