"""Compares the families of a release with what the exporter reads, and with those of another release."""

from __future__ import annotations

from dataclasses import dataclass, field

PARTS = ("_bucket", "_sum", "_count")


@dataclass
class Release:
    """What was found in a release."""

    title: str
    families: list
    gaps: list
    constants: list = field(default_factory=list)

    def __post_init__(self):
        self.by_name = {}
        for one in self.families:
            self.by_name.setdefault(one.name, []).append(one)

    def of(self, name):
        """The families that have samples of that name."""
        for suffix in ("", *PARTS):
            found = self.by_name.get(name.removesuffix(suffix)) if name.endswith(suffix) else None
            if found and (not suffix or any(one.type in ("histogram", "summary", None) for one in found)):
                return found
        return []

    def named(self, name):
        """The constants that may name the series behind a prefix."""
        plain = name.removesuffix("_sum").removesuffix("_count")
        return [one for one in self.constants if one.fits(name) or one.fits(plain)]

    def shows(self, name):
        return bool(self.of(name) or self.named(name))


@dataclass(frozen=True)
class Constant:
    """A name that is written down without the call that makes its family, which is not Python."""

    group: str
    name: str
    help: str
    prefixes: tuple

    def fits(self, series):
        return series == self.name or any(series == f"{prefix}_{self.name}" for prefix in self.prefixes)


def labels_of(families):
    """The labels that families of one name always have, all that they may have, and whether all of them are known."""
    read = [one for one in families if one.labels is not None]
    if not read:
        return set(), set(), False
    every = set.intersection(*(set(one.labels) for one in read))
    return every, {label for one in read for label in (*one.labels, *one.optional)}, not any(one.open for one in read)


def told(families):
    """What a family is, in the words of the report."""
    every, labels, known = labels_of(families)
    listed = [label if label in every else f"[{label}]" for label in sorted(labels)] + ([] if known else ["…"])
    values = "".join(f"; {label}: {', '.join(seen)}" for label in sorted(labels) if (seen := values_of(families, label)))
    return f"{types_of(families)}; labels: {', '.join(listed) or 'none'}{values}"


def types_of(families):
    return "/".join(sorted({one.type for one in families}))


def help_of(families):
    return " / ".join(sorted({one.help for one in families if one.help}))


def values_of(families, label):
    """All values of a label; empty if there may be others."""
    sets = [one.values[label] for one in families if label in one.values]
    values = set().union(*sets)
    return sorted(values) if values and all(isinstance(value, str) for value in values) else []


def misfits(series, families):
    """Why a series that is there may not mean what we read."""
    every, labels, known = labels_of(families)
    types = {one.type for one in families}
    found = []
    if series["type"] not in types and not is_part(series["name"], types) and not types & {"info", "enum"}:
        found.append(f"we read a {series['type']}, it is a {'/'.join(sorted(types))}")
    for label in series.get("labels", ()):
        if known and label not in labels:
            found.append(f"it has no label {label}")
    rank = series.get("rank")
    if rank and known and rank not in labels:
        found.append(f"it has no label {rank}, the rank")
    for label, wanted in series.get("values", {}).items():
        seen = values_of(families, label)
        gone = [value for value in wanted if seen and value not in seen]
        if gone:
            found.append(f"{label} is never {' or '.join(gone)}, only {', '.join(seen)}")
    return found


def is_part(name, types):
    return name.endswith(PARTS) and bool(types & {"histogram", "summary"})


def changes(old, new):
    """What differs between two releases of a family."""
    found = []
    if types_of(old) != types_of(new):
        found.append(f"type: {types_of(old)} → {types_of(new)}")
    found += label_changes(labels_of(old), labels_of(new))
    if help_of(old) != help_of(new):
        found.append(f"HELP: {help_of(old) or 'not read'} → {help_of(new) or 'not read'}")
    bounds = [{one.buckets for one in families} for families in (old, new)]
    if bounds[0] != bounds[1] and None not in bounds[0] | bounds[1]:
        found.append(f"buckets: {' / '.join(map(span, bounds[0]))} → {' / '.join(map(span, bounds[1]))}")
    for label in sorted(labels_of(old)[1] & labels_of(new)[1]):
        before, after = values_of(old, label), values_of(new, label)
        if before and after and before != after:
            found.append(f"values of {label}: {', '.join(before)} → {', '.join(after)}")
    return found


def span(bounds):
    return f"{len(bounds)} from {bounds[0]:g} to {bounds[-1]:g}" if bounds else "the client's own"


def label_changes(old, new):
    (always_old, may_old, known_old), (always_new, may_new, known_new) = old, new
    found = [f"label {label} is new" for label in sorted(may_new - may_old)]
    found += [f"label {label} is gone" for label in sorted(may_old - may_new)]
    found += [f"label {label} is not always there any more" for label in sorted((always_old & may_new) - always_new)]
    found += [f"label {label} is always there now" for label in sorted((always_new & may_old) - always_old)]
    if known_old != known_new:
        found.append("all its labels could be read now" if known_new else "it may have labels now that only a running server knows")
    return found


def write(kind, series, release, old=None, unseen=""):
    """The report as Markdown."""
    ours = [one for one in series if one["kind"] == kind]
    lines = [f"# {release.title}, compared with {old.title if old else 'no other release'}", ""]
    lines += gone(ours, release, old) + changed(ours, release, old) + fresh(ours, release, old) + unread(release, unseen)
    lines.append(summary(ours, release, old))
    return "\n".join(lines).rstrip() + "\n"


def section(title, rows, empty="Nothing."):
    return [f"## {title}", "", *(rows or [empty]), ""]


def gone(ours, release, old):
    """What went since the other release. Without another, nobody knows whether what is absent went or is yet to come."""
    rows, long_gone = [], []
    for one in ours:
        if release.shows(one["name"]):
            continue
        if old is None or old.shows(one["name"]):
            rows.append(f"* `{one['name']}` ({', '.join(one['signals'])})")
        else:
            long_gone.append(f"`{one['name']}`")
    if old is None:
        return section("Absent: we read it, this release does not construct it; it may have gone, or have come later", rows)
    lines = section("Gone: we read it, this release does not construct it", rows)
    if long_gone:
        lines += [f"Neither of the two has: {', '.join(long_gone)}.", ""]
    return lines


def changed(ours, release, old):
    rows, known = {}, []
    for one in ours:
        new, earlier = release.of(one["name"]), old.of(one["name"]) if old else []
        wrong = misfits(one, new) if new else []
        differs = changes(earlier, new) if earlier and new else []
        if earlier and wrong and not differs and misfits(one, earlier) == wrong:
            known.append(f"* `{one['name']}`: {'; '.join(wrong)}")
        elif wrong or differs:
            texts = (*(f"**{text}**" for text in wrong), *differs)
            rows.setdefault(texts, []).append(f"* `{one['name']}` ({place(new[0])})")
    lines = [line for texts, names in rows.items() for line in (*names, *(f"  * {text}" for text in texts))]
    title = "Changed: we read it, and it is no longer the same" if old else "Otherwise: we read it, and it is not as we read it"
    lines = section(title, lines)
    return lines + (["As before, and known:", "", *known, ""] if known else [])


def fresh(ours, release, old):
    read = {family.name for one in ours for family in release.of(one["name"])}
    new, others = [], []
    newly = [one["name"] for one in ours if old and release.of(one["name"]) and not old.shows(one["name"])]
    for name, families in sorted(release.by_name.items()):
        if name in read:
            continue
        if old and name in old.by_name:
            others.append(name)
        else:
            new.append(row(name, families))
    named = {constant.name for one in ours for constant in release.named(one["name"])}
    before = {(one.group, one.name) for one in old.constants} if old else set()
    for one in release.constants:
        if one.name not in named and (one.group, one.name) not in before:
            new.append(f"* `{one.name}` of {one.group}: {one.help or 'no comment'}")
    lines = section("New: we do not read it" if old else "Besides: we do not read it", new)
    if newly:
        lines += ["New, and read already: " + ", ".join(f"`{name}`" for name in newly) + ".", ""]
    if others:
        lines += ["Not read, and not new: " + ", ".join(f"`{name}`" for name in others) + ".", ""]
    return lines


def row(name, families):
    return f"* `{name}` ({told(families)}): {help_of(families) or 'no HELP'} {place(families[0])}"


def unread(release, unseen):
    rows = [f"* {one.path}:{one.line}: {one.why}" + (f": `{one.text}`" if one.text else "") for one in release.gaps]
    rows += [f"* {place(one)}: `{one.name}`: its labels could not be read" for one in release.families if one.labels is None]
    if unseen:
        rows.append(f"* {unseen[0].upper()}{unseen[1:]}: it is not in Python")
    return section("Not read: look there", rows)


def summary(ours, release, old):
    """How many series are as they were, or as we read them if there is nothing to compare with."""
    same = named = 0
    for one in ours:
        new, earlier = release.of(one["name"]), old.of(one["name"]) if old else []
        if new:
            same += not (changes(earlier, new) if earlier else misfits(one, new))
        else:
            named += bool(release.named(one["name"]))
    text = f"{same} of the {len(ours)} series that we read are unchanged; the release has {len(release.by_name)} families."
    return text + (f" {named} more are only named in it." if named else "")


def place(family):
    return f"{family.path}:{family.line}"
