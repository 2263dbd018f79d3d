import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedLua } from './change-lua.ts'
import { changed } from './change.ts'
import type { Mutant } from './mutant.ts'

/** A line that a mutant changes: the line of its marker, or the next one if the marker has a line for itself. */
interface Place {
  /** From the root of the repository. */
  readonly file: string
  /** Counted from 0. */
  readonly line: number
  readonly isLua: boolean
}

const FOLDERS = ['src', 'adapters', 'cli', 'testing']
const MARKER = /^(.*?)(\/\/|--) mutant: (.+)$/

/** What is published: the markers are for this repository alone. */
export function withoutMarkers(text: string): string {
  return text.replaceAll(/^[ \t]*\/\/ mutant: .*\n|[ \t]*(?:\/\/|--) mutant: .*$/gm, '')
}

/** The files that a mutant changes, with their changed text. @throws Error unless it finds each of its places once */
export function planted({ name, changes }: Mutant, root = '.'): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const read = (file: string): string => texts.get(file) ?? readFileSync(join(root, file), 'utf8')
  const marked = markedPlaces(root)
  // From the last place to the first: a change may remove or add lines.
  const steps = changes.map((change, index) => ({ change, ...placeOf(index === 0 ? name : `${name} ${index + 1}`) }))
  for (const { change, file, line, isLua } of steps.toSorted((one, other) => other.line - one.line)) {
    try {
      texts.set(file, (isLua ? changedLua : changed)(read(file), line, change))
    } catch (error) {
      throw new Error(`${name}: ${file}:${line + 1}: ${(error as Error).message}`, { cause: error })
    }
  }
  return texts

  function placeOf(label: string): Place {
    const [place, ...others] = marked.get(label) ?? []
    if (place === undefined || others.length > 0) {
      throw new Error(`expected one line marked "mutant: ${label}", got ${others.length + (place ? 1 : 0)}`)
    }
    return place
  }
}

const found = new Map<string, ReadonlyMap<string, readonly Place[]>>()

/** All places that the source marks, by the labels of their markers. Looked for once. */
export function markedPlaces(root = '.'): ReadonlyMap<string, readonly Place[]> {
  const known = found.get(root)
  if (known !== undefined) return known
  const places = new Map<string, Place[]>()
  found.set(root, places)
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name)
      if (!file.endsWith('.ts')) continue
      const text = readFileSync(join(root, file), 'utf8')
      if (!text.includes(' mutant: ')) continue
      for (const [at, line] of text.split('\n').entries()) {
        const [, before = '', comment, labels] = MARKER.exec(line) ?? []
        const place = { file, line: before.trim() === '' ? at + 1 : at, isLua: comment === '--' }
        for (const label of labels?.split(', ') ?? []) places.set(label, [...(places.get(label) ?? []), place])
      }
    }
  }
  return places
}
