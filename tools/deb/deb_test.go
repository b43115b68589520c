//go:build e2e_deb && linux

package deb

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	configFile  = "/etc/trtllm_exporter/config.yml"
	defaultFile = "/etc/default/trtllm_exporter"
	checkFile   = "trtllm_exporter check-config " + configFile
)

// host is a Debian with the package.
type host struct {
	*machine
	fleet  []replica
	config string
	clean  string
	// old and next are the paths of packages in the machine.
	old, next string
}

// TestDebOnCleanDebian runs steps that depend on the previous ones.
func TestDebOnCleanDebian(t *testing.T) {
	old, next := debs(t)
	h := &host{machine: bootMachine(t)}
	h.old, h.next = h.put(t, old), h.put(t, next)
	h.put(t, one(t, filepath.Dir(old), ".tar.gz"))
	h.clean = h.files(t)
	for _, chapter := range []struct {
		name string
		part func(t *testing.T)
	}{
		{"installing starts nothing", h.installed},
		{"the unit starts as documented and scrapes the fleet", h.started},
		{"the process has no rights", h.hardened},
		{"the page is on loopback until ARGS opens it", h.opened},
		{"a reload takes a good file over", h.reloaded},
		{"a reload with a bad file reports the error and changes nothing", h.refused},
		{"a secret of root is passed as a credential", h.credential},
		{"a killed process is restarted", h.revived},
		{"an upgrade restarts the unit and keeps edits", h.upgraded},
		{"the unit starts with the machine", h.rebooted},
		{"removing keeps the configuration", h.removed},
		{"a second installation keeps the configuration", h.returned},
		{"purging leaves nothing", h.purged},
		{"install and remove in an image that is not booted", h.unbooted},
		{
			"the deb starts with the commands of docs/install.md",
			func(t *testing.T) { t.Helper(); h.documented(t, "**deb or rpm**"); h.run(t, "dpkg -P trtllm-exporter") },
		},
		{
			"the archive starts with the commands of docs/install.md",
			func(t *testing.T) { t.Helper(); h.documented(t, "**Archive**") },
		},
	} {
		if !t.Run(chapter.name, chapter.part) {
			return // The next steps would fail too.
		}
	}
}

// debs returns the packages of two releases, the second with another default configuration.
func debs(t *testing.T) (old, next string) {
	t.Helper()
	old, next = one(t, setting(t, "DEB_OLD"), ".deb"), one(t, setting(t, "DEB_NEW"), ".deb")
	tree, changed := t.TempDir(), filepath.Join(t.TempDir(), "next.deb")
	out, err := exec.Command("dpkg-deb", "-R", next, tree).CombinedOutput()
	require.NoError(t, err, "%s", out)
	shipped := filepath.Join(tree, configFile)
	text, err := os.ReadFile(shipped)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(shipped, append([]byte("# Of the next release.\n"), text...), 0o644))
	out, err = exec.Command("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, changed).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return old, changed
}

// one returns the only file in a folder with an ending.
func one(t *testing.T, folder, ending string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*"+ending))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// files returns all paths on the disk, except those that dpkg, apt and running programs
// change.
func (h *host) files(t *testing.T) string {
	t.Helper()
	return h.run(
		t,
		`find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /var/log \
		-o -path /var/tmp -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd \) -prune -o -print | sort`,
	)
}

// errors returns lines of the journal that must not occur.
func (h *host) errors(t *testing.T) string {
	t.Helper()
	said, _ := h.try("journalctl -u trtllm_exporter -o cat --no-pager | grep -E 'level=(WARN|ERROR)|[Ff]ailed|panic'")
	return said
}

// pid returns the unit's main process.
func (h *host) pid(t *testing.T) string {
	t.Helper()
	pid := h.run(t, "systemctl show -P MainPID trtllm_exporter")
	require.NotEqual(t, "0", pid)
	return pid
}

func (h *host) installed(t *testing.T) {
	t.Helper()
	h.run(t, "apt-get install -y "+h.old)
	require.Equal(t, "install ok installed", h.run(t, "dpkg-query -W -f '${Status}' trtllm-exporter"))
	require.Empty(t, h.run(t, "dpkg --verify trtllm-exporter"))
	state, err := h.try("systemctl is-enabled trtllm_exporter")
	require.Error(t, err)
	require.Equal(t, "disabled", state)
	state, err = h.try("systemctl is-active trtllm_exporter")
	require.Error(t, err)
	require.Equal(t, "inactive", state)
	require.Empty(t, h.run(t, "systemd-analyze verify trtllm_exporter.service"))
	require.Contains(t, h.run(t, "runuser -u nobody -- "+checkFile), "OK, 1 pool")
	require.Contains(t, h.run(t, "trtllm_exporter --version"), "version 0.1.0-rc.1")
}

func (h *host) started(t *testing.T) {
	t.Helper()
	h.fleet = h.startFleet(t)
	h.config = configuration(t, h.fleet)
	h.write(t, configFile, h.config)
	h.run(t, checkFile)
	h.run(t, "systemctl enable --now trtllm_exporter")
	require.Equal(t, "active", h.run(t, "systemctl is-active trtllm_exporter"))
	require.Equal(t, "enabled", h.run(t, "systemctl is-enabled trtllm_exporter"))
	h.scrapes(t, h.fleet)
	require.Empty(t, h.errors(t))
	require.Equal(t, "running", h.run(t, "systemctl is-system-running"))
}

func (h *host) hardened(t *testing.T) {
	t.Helper()
	// A setting of the unit that this systemd does not support would be missing here.
	shown := strings.Split(h.run(t, "systemctl show trtllm_exporter"), "\n")
	settings := regexp.MustCompile(`(?m)^\w+=(yes|strict|closed|invisible|native|65536)$`).
		FindAllString(h.run(t, "systemctl cat trtllm_exporter"), -1)
	require.Greater(t, len(settings), 15)
	require.Subset(t, shown, append(settings, "MemoryMax=1073741824"))
	pid := h.pid(t)
	status := h.run(t, "cat /proc/"+pid+"/status")
	for _, line := range []string{
		"NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
	} {
		require.Contains(t, status, line)
	}
	require.NotContains(t, status, "Uid:\t0")
	inside := "nsenter --target " + pid + " --mount -- "
	output, err := h.try(inside + "touch /usr/new /etc/new /var/new")
	require.Error(t, err)
	require.Equal(t, 3, strings.Count(output, "Read-only file system"), "%s", output)
	require.Equal(t, "full null ptmx pts random shm tty urandom zero",
		h.run(t, inside+"sh -c 'cd /dev && ls -d full null ptmx pts random shm tty urandom zero sd* vd* kmsg "+
			"2>/dev/null | tr \"\\n\" \" \"'"))
	h.run(t, "systemd-analyze security --threshold=20 trtllm_exporter.service")
}

func (h *host) opened(t *testing.T) {
	t.Helper()
	const elsewhere = "curl -sf http://127.0.0.2:9802/-/ready"
	_, err := h.try(elsewhere)
	require.Error(t, err)
	h.run(t, `sed -i 's/^#ARGS=/ARGS=/' `+defaultFile)
	h.run(t, "systemctl restart trtllm_exporter")
	within(t, "the page is open", func() bool { _, err := h.try(elsewhere); return err == nil })
	h.scrapes(t, h.fleet)
}

func (h *host) reloaded(t *testing.T) {
	t.Helper()
	pid := h.pid(t)
	h.config = strings.Replace(h.config, "pool_id: ", "pool_id: new-", 1)
	before := h.fleet[0].Pool
	for i := range h.fleet {
		if h.fleet[i].Pool == before {
			h.fleet[i].Pool = "new-" + before
		}
	}
	h.write(t, configFile, h.config)
	h.run(t, "systemctl reload trtllm_exporter")
	h.scrapes(t, h.fleet)
	require.Equal(t, pid, h.pid(t))
	require.Empty(t, h.errors(t))
}

func (h *host) refused(t *testing.T) {
	t.Helper()
	pid := h.pid(t)
	h.write(t, configFile, h.config+"    scrape_intervall: 5s\n")
	output, err := h.try("systemctl reload trtllm_exporter")
	require.Error(t, err, "systemctl reports success for a bad file")
	require.Contains(t, output, "journalctl")
	journal := "journalctl -u trtllm_exporter -o cat --no-pager"
	h.becomes(t, journal, "Reload failed, the old configuration stays in force")
	require.Contains(t, h.run(t, journal), "scrape_intervall")
	require.Equal(t, "active", h.run(t, "systemctl is-active trtllm_exporter"))
	require.Equal(t, pid, h.pid(t))
	page, err := h.page()
	require.NoError(t, err)
	last := page["trtllm_exporter_config_last_reload_successful"].GetMetric()
	require.Len(t, last, 1)
	require.Zero(t, last[0].GetGauge().GetValue())
	h.scrapes(t, h.fleet)

	h.write(t, configFile, h.config)
	h.run(t, "systemctl reload trtllm_exporter")
	h.scrapes(t, h.fleet)
}

func (h *host) credential(t *testing.T) {
	t.Helper()
	const secret = "/etc/secrets/triton"
	const dropIn = "/etc/systemd/system/trtllm_exporter.service.d/password.conf"
	h.write(t, secret, "of-the-fleet")
	h.run(t, "chmod 0700 /etc/secrets && chmod 0600 "+secret)
	h.write(t, dropIn, "[Service]\nLoadCredential=password:"+secret+"\n")
	h.write(t, configFile, strings.ReplaceAll(h.config, "    static_configs:",
		"    basic_auth: { username: exporter, password_file: /run/credentials/trtllm_exporter.service/password }\n"+
			"    static_configs:"))
	h.run(t, "systemctl daemon-reload && systemctl restart trtllm_exporter")
	h.scrapes(t, h.fleet)
	h.run(t, "systemctl reload trtllm_exporter")
	h.scrapes(t, h.fleet)

	h.run(t, "rm -r /etc/secrets "+filepath.Dir(dropIn))
	h.write(t, configFile, h.config)
	h.run(t, "systemctl daemon-reload && systemctl restart trtllm_exporter")
	h.scrapes(t, h.fleet)
}

func (h *host) revived(t *testing.T) {
	t.Helper()
	pid := h.pid(t)
	h.run(t, "kill -9 "+pid)
	h.becomes(t, "systemctl show -p NRestarts trtllm_exporter", "NRestarts=1")
	h.scrapes(t, h.fleet)
	require.NotEqual(t, pid, h.pid(t))
}

func (h *host) upgraded(t *testing.T) {
	t.Helper()
	pid := h.pid(t)
	output := h.run(t, "apt-get install -y -o Dpkg::Options::=--force-confold "+h.next)
	require.Contains(t, output, "0 to remove")
	require.Equal(t, "0.1.0", h.run(t, "dpkg-query -W -f '${Version}' trtllm-exporter"))
	require.NotEqual(t, pid, h.pid(t))
	require.Equal(t, "active", h.run(t, "systemctl is-active trtllm_exporter"))
	require.Equal(t, "enabled", h.run(t, "systemctl is-enabled trtllm_exporter"))
	require.Equal(t, strings.TrimSpace(h.config), h.run(t, "cat "+configFile))
	require.Contains(t, h.run(t, "cat "+configFile+".dpkg-dist"), "# Of the next release.")
	require.Contains(t, h.run(t, "cat "+defaultFile), "\nARGS=")
	h.scrapes(t, h.fleet)
	require.Contains(t, h.run(t, "/proc/"+h.pid(t)+"/exe --version"), "version 0.1.0 ")
}

func (h *host) rebooted(t *testing.T) {
	t.Helper()
	boot := h.run(t, "cat /etc/machine-id; stat -c %Z /proc/1")
	_, _ = h.try("systemctl reboot") // The machine may stop before it answers.
	within(t, "the machine has rebooted", func() bool {
		now, err := h.try("cat /etc/machine-id; stat -c %Z /proc/1")
		return err == nil && now != boot
	})
	h.booted(t)
	require.Equal(t, "active", h.run(t, "systemctl is-active trtllm_exporter"))
	h.run(t, "trtllm_exporter healthcheck")
}

func (h *host) removed(t *testing.T) {
	t.Helper()
	h.run(t, "dpkg -r trtllm-exporter")
	_, err := h.try("systemctl cat trtllm_exporter")
	require.Error(t, err)
	_, err = h.try("curl -s http://127.0.0.1:9802/-/ready")
	require.Error(t, err)
	require.Empty(t, h.run(t, "systemctl list-units --all --no-legend 'trtllm_exporter*'"))
	remaining := h.run(t, "find / -xdev -path /proc -prune -o -path '*trtllm*' -print | grep -v -e /var/lib/dpkg "+
		"-e /root -e /var/log -e /run | sort")
	require.Equal(t, []string{
		defaultFile, "/etc/trtllm_exporter", configFile, configFile + ".dpkg-dist",
	}, strings.Fields(remaining))
}

func (h *host) returned(t *testing.T) {
	t.Helper()
	h.run(t, "dpkg --force-confold -i "+h.old)
	require.Equal(t, strings.TrimSpace(h.config), h.run(t, "cat "+configFile))
	state, err := h.try("systemctl is-enabled trtllm_exporter")
	require.Error(t, err)
	require.Equal(t, "disabled", state)
	// The next step purges a unit that is enabled and running.
	h.run(t, "systemctl enable --now trtllm_exporter")
}

func (h *host) purged(t *testing.T) {
	t.Helper()
	h.run(t, "dpkg -P trtllm-exporter")
	require.Equal(t, h.clean, h.files(t))
	require.Empty(t, h.run(t, "systemctl list-units --all --no-legend 'trtllm_exporter*'"))
	_, err := h.try("dpkg-query -W trtllm-exporter")
	require.Error(t, err)
	require.Equal(t, "running", h.run(t, "systemctl is-system-running"))
}

func (h *host) unbooted(t *testing.T) {
	t.Helper()
	h.run(t, "unshare --mount sh -ec 'mount -t tmpfs tmpfs "+
		"/run; dpkg -i "+h.old+"; systemctl enable trtllm_exporter; dpkg -P trtllm-exporter'")
	require.Equal(t, h.clean, h.files(t))
}

// commands returns the lines of the first code block after a text in docs/install.md.
func commands(t *testing.T, behind string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n"+behind)
	require.True(t, found, behind)
	parts := strings.SplitN(strings.ReplaceAll(after, "\n```sh\n", "\n```\n"), "\n```\n", 3)
	require.Len(t, parts, 3, behind)
	return strings.ReplaceAll(parts[1], "amd64", runtime.GOARCH) + "\n"
}

// documented runs documented commands, with a script as the editor, slowly enough for the
// exporter to listen.
func (h *host) documented(t *testing.T, way string) {
	t.Helper()
	if _, err := h.try("systemctl is-active fleet"); err != nil {
		h.fleet = h.startFleet(t)
	}
	h.write(t, "/root/edited.yml", configuration(t, h.fleet))
	script := `set -ex; cd /root
sudo() { "$@"; }
sudoedit() { cp /root/edited.yml "$1"; }
curl() { command curl -sSf --retry 10 --retry-delay 1 --retry-connrefused "$@"; }
` + commands(t, way) + commands(t, "**Then:**")
	out, err := h.input("", script)
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "trtllm_exporter_build_info{")
	h.scrapes(t, h.fleet)
}
