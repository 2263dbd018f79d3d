import { EXPECTED, type Counted } from './expected.ts'

/** What differs from the table, a line for each number that grew or shrank, and what is to be written there. Empty: nothing. */
export function changes(scene: string, counted: Counted, expected: Counted = EXPECTED[scene] ?? {}): string {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(counted)])]
  const told = names.flatMap((name) => {
    const [was, is] = [expected[name], counted[name]]
    return was === is ? [] : [`  ${name} ${changeOf(was, is)}`]
  })
  if (told.length === 0) return ''
  return [
    `${scene}, for each 1,000 messages:`,
    ...told,
    'If that is meant, change test/counts/expected.ts by hand, and say why in the commit message:',
    textOf(scene, counted),
  ].join('\n')
}

function changeOf(was: number | undefined, is: number | undefined): string {
  if (is === undefined) return `was ${was}, and is 0`
  if (was === undefined) return `is ${is}, and was 0`
  return is > was ? `grew from ${was} to ${is}` : `shrank from ${was} to ${is}: lower it, so that it stays there`
}

function textOf(scene: string, counted: Counted): string {
  const lines = Object.entries(counted).map(([name, count]) => `    ${quoted(name)}: ${grouped(count)},`)
  return [`  ${quoted(scene)}: {`, ...lines, '  },'].join('\n')
}

function quoted(name: string): string {
  return /^\w+$/.test(name) ? name : `'${name}'`
}

function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, '_')
}
