/** A section of CHANGELOG.md, in the form of Keep a Changelog. */
export interface Section {
  /** `Unreleased`, or a version. */
  readonly name: string
  /** `2026-11-27`; `Unreleased` has none. */
  readonly date: string | undefined
  /** The text below the heading: what a release on GitHub says. */
  readonly text: string
}

export function sectionsOf(changelog: string): readonly Section[] {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [heading = '', ...lines] = part.split('\n')
      const [, name = heading, date] = /^\[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?$/.exec(heading) ?? []
      return { name, date, text: lines.join('\n').trim() }
    })
}

/** @throws Error if the version has no section */
export function notesOf(changelog: string, version: string): string {
  const section = sectionsOf(changelog).find(({ name }) => name === version)
  if (section === undefined) throw new Error(`CHANGELOG.md: expected a section ## [${version}]`)
  return section.text
}
