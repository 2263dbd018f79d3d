import { proseOf } from './markdown.ts'

/** Parts that a program writes, between comments that say so. */
const WRITTEN = [
  /<!-- (?<name>metrics|alerts) -->[\s\S]*?<!-- \/\k<name> -->/g,
  /<!-- (?<name>\w+): written by [\s\S]*?<!-- end of \k<name> -->/g,
]

/** The text of a page that a person wrote: no code, no comments, nothing that a program writes. */
export function handWritten(markdown: string): string {
  const own = WRITTEN.reduce((text, part) => text.replaceAll(part, ''), markdown)
  return proseOf(own.replaceAll(/^( *)(```+)[\s\S]*?^\1\2$/gm, '')).replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** Words of text and of tables. */
export function wordsOf(text: string): number {
  return [...text.matchAll(/[^\s|]*[\p{L}\p{N}][^\s|]*/gu)].length
}

/** Paragraphs and items of lists, as they are read: on one line, without marks of code and bold. Tables are none. */
export function paragraphsOf(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((part) =>
      part
        .split('\n')
        .filter((line) => !/^\s*\|/.test(line))
        .join(' ')
        .replaceAll(/^\s*(?:#+|[-*>]|\d+\.)\s+|[`*]/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((part) => part !== '')
}
