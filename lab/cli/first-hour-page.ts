import { readFileSync } from 'node:fs'
import { blocksOf } from '../../test/kit/readme.ts'

const PAGE = 'docs/first-hour.md'

/** What the page has its reader save and change, and what it says that is printed. */
export interface FirstHour {
  readonly provider: string
  readonly test: string
  readonly added: string
  readonly handler: string
  readonly alert: string
  /** By the demo, the worker and the test that fails. */
  readonly shown: readonly [demo: string, worker: string, failure: string]
}

export function firstHour(): FirstHour {
  const page = readFileSync(PAGE, 'utf8')
  const between = (before: string, after: string): string => {
    const [, text] = page.split(before)
    if (text === undefined) throw new Error(`${PAGE}: expected: ${before}`)
    return text.split(after)[0] ?? ''
  }
  const savedAs = (name: string): string => between(`Save this as \`${name}\`:\n\n\`\`\`ts\n`, '```')
  const quoted = (before: string): string => between(`${before} \``, '`')
  const printed = blocksOf(PAGE, page).flatMap(({ language, text }) => (language === '' ? [text.trim()] : []))
  const [demo, worker, failure] = printed
  if (demo === undefined || worker === undefined || failure === undefined)
    throw new Error(`${PAGE}: expected three blocks of what is printed, got ${printed.length}`)
  return {
    provider: savedAs('provider.ts'),
    test: savedAs('sms.test.ts'),
    added: quoted('Add'),
    handler: quoted('replace its handler by'),
    alert: quoted('raises the alert'),
    shown: [demo, worker, failure],
  }
}
