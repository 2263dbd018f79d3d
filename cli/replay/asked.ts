import type { RedriveResult } from '../../src/replay/index.ts'
import { countedText } from '../../src/core/counted-text.ts'
import { printable } from '../output.ts'

/** A message as a person named it, and the keys that may stand for it. */
export interface Asked {
  readonly text: string
  readonly keys: readonly string[]
}

/** Those that no dead letter has. */
export function missingOf(asked: readonly Asked[], { keysFound = [] }: RedriveResult): readonly string[] {
  const found = new Set(keysFound)
  return asked.filter(({ keys }) => !keys.some((key) => found.has(key))).map(({ text }) => text)
}

const SHOWN = 10

/** For people. */
export function missingText(missing: readonly string[], asked: number): string {
  const more = missing.length > SHOWN ? `, and ${(missing.length - SHOWN).toLocaleString('en')} more` : ''
  const of = asked === 1 ? '' : `${missing.length.toLocaleString('en')} of ${countedText(asked, 'message')}: `
  return `No dead letter there has this ID or key: ${of}${missing.slice(0, SHOWN).map(printable).join(', ')}${more}`
}
