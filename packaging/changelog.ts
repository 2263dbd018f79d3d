import { withLinks } from '../site/markdown.ts'
import { linkTo, type Manifest } from './stage.ts'

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

/** The section of the manifest's version, with links that work outside of the repository. @throws Error if there is none */
export function notesOf(changelog: string, manifest: Manifest): string {
  const { version } = manifest
  const section = sectionsOf(changelog).find(({ name }) => name === version)
  if (section === undefined) throw new Error(`CHANGELOG.md: expected a section ## [${version}]`)
  return withLinks(section.text, (target) => linkTo(manifest, target) ?? target)
}
