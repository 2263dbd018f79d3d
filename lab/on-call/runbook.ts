import { readFileSync } from 'node:fs'
import { proseOf } from '../../site/markdown.ts'

/** A section of a page, as a person on call has it. */
export interface Runbook {
  /** What is typed, in order: the lines of its blocks `sh`, and what it says of curl, as they are printed. */
  readonly commands: readonly string[]
  /** Words and lines from its heading to its end, without the commands. */
  readonly words: number
  readonly text: string
  readonly lines: number
}

const PAGE = 'docs/operations.md'

/** Headings of the page whose commands the laboratory types. */
export const WALKED = [
  'A partition is held',
  'When nothing comes through, it holds',
  'The backlog grows',
  'Rename a consumer',
] as const

export function runbookOf(heading: (typeof WALKED)[number]): Runbook {
  const [, section] = readFileSync(PAGE, 'utf8').split(`\n## ${heading}\n`)
  if (section === undefined) throw new Error(`${PAGE}: expected a section ${heading}`)
  const [text = ''] = section.split(/^## /m)
  const typed = /^ *```sh\n(?<block>[\s\S]*?)^ *```$|`(?<inline>curl [^`]+)`/gm
  const blocks = [...text.matchAll(typed)].map(({ groups }) => groups?.['block'] ?? groups?.['inline'] ?? '')
  const commands = blocks
    .flatMap((block) => block.split('\n'))
    .map((line) => line.replace(/\s+#\s.*$/, '').trim())
    .filter((line) => line !== '')
  if (commands.length === 0) throw new Error(`${PAGE}: ${heading} has no commands`)
  const prose = proseOf(text)
  return {
    commands,
    text,
    words: prose.split(/\s+/).filter((word) => /\w/.test(word)).length,
    lines: text.split('\n').filter((line) => line.trim() !== '').length,
  }
}

/** As a shell takes them apart. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** Minutes of a rule or a query, as they last in a scene. */
export function inSeconds(text: string, secondsAMinute: number): string {
  return text.replaceAll(/\b(\d+)m\b/g, (_, minutes: string) => `${Number(minutes) * secondsAMinute}s`)
}
